import ArgumentParser
import Foundation
import Logging
import Poller
import PollerRedis
import ProgramOutput
import RedisClient

/// `pollerd reindex`: adds missing watches to the search index.
struct Reindex: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reindex",
        abstract: "Make watches found that were enqueued before what is searched was changed.",
        discussion: """
            Watches are put into the index as they are enqueued and as their polls see something. Once \
            the option search names other metadata, run this beside the cluster: 500 watches at a time, \
            each step atomic and as often as you like.
            """
    )

    @OptionGroup var flags: Flags

    func run() async throws {
        try await Cluster.visit(flags, as: "reindex") { cluster, settings, _ in
            var count = 0
            var cursor: String?
            repeat {
                let step = try await cluster.watches.index(from: cursor)
                count += step.count
                cursor = step.next
            } while cursor != nil
            let names = settings.searchKeys.names.joined(separator: ", ")
            StandardStreams.printLine(
                "\(count) watches are found by source, order, charge, sum and by \(names)"
            )
        }
    }
}
