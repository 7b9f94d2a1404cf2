import ArgumentParser
import Foundation
import Logging
import PollerRedis
import PollerWatches
import ProgramOutput
import RedisClient

/// `pollerd reindex`: adds missing watches to the search index.
struct Reindex: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reindex",
        abstract: "Index existing watches again after the search option has changed.",
        discussion: """
            Watches are indexed when they are enqueued and when a poll observes a change. After the \
            option search has changed, run this while the cluster works. It indexes 500 watches at a time \
            in atomic steps and can be repeated.
            """
    )

    @OptionGroup var flags: Flags

    func run() async throws {
        try await Cluster.withStore(flags, as: "reindex") { cluster, settings, _ in
            var count = 0
            var cursor: String?
            repeat {
                let step = try await cluster.watches.index(from: cursor)
                count += step.count
                cursor = step.next
            } while cursor != nil
            let names = settings.searchKeys.names.joined(separator: ", ")
            StandardStreams.printLine(
                "\(count) watches can be found by source, order, charge, amount and \(names)"
            )
        }
    }
}
