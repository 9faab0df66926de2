"""What a person watches while a fleet works: the tree of hand-offs. Starts nothing, knows no cluster, no command."""

from symfonic_ray.report.harmless import harmless
from symfonic_ray.report.live_tree import LiveTree
from symfonic_ray.report.plain_tree import PlainTree
from symfonic_ray.report.tree import HandOffTree, TreeNode

__all__ = ["HandOffTree", "LiveTree", "PlainTree", "TreeNode", "harmless"]
