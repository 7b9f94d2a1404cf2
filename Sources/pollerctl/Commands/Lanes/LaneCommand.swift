import ArgumentParser

/// `pollerctl lane`: the watches that share one upstream limit.
struct LaneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lane",
        abstract: "Look at lanes, stop them, change their limits while they run.",
        discussion: """
            A lane is the watches of one account at one endpoint of the upstream, such as \
            default/sources: they share its rate limit.
            """,
        subcommands: [
            LaneList.self, LaneGet.self, LanePause.self, LaneResume.self, LaneLimit.self,
        ],
        defaultSubcommand: LaneList.self
    )
}
