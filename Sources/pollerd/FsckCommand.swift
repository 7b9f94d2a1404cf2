import ArgumentParser
import Foundation
import Logging
import Poller
import PollerQueue
import ProgramOutput
import RedisClient

/// `pollerd fsck`: checks the invariants of the store, on the live cluster.
struct Fsck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fsck",
        abstract: "Check that everything in the store is where it belongs; exit 1 if not.",
        discussion: """
            Looks at a few hundred items at a time, each step atomic, so it may run while the
            cluster works. What it finds is mended with --repair: an item in no place becomes due
            now, one in two places stays where its lease or its urgent place is, slots are counted
            anew. Nothing is ever deleted but records without a lane.
            """
    )

    @ArgumentParser.Flag(help: "Mend what is wrong.")
    var repair = false

    @OptionGroup var flags: Flags

    func run() async throws {
        let faults = try await Cluster.visit(flags, as: "fsck") { cluster, _, _ in
            let watches = try await audit(cluster.watches, "watches")
            return try await watches + audit(cluster.deliveries, "deliveries")
        }
        if faults > 0, !repair {
            StandardStreams.printLine(
                "run pollerd fsck --repair to mend \(faults == 1 ? "it" : "them")"
            )
        }
        if faults > 0, !repair { throw ExitCode(1) }
    }

    /// Checks one queue, prints each fault, and returns their number.
    private func audit(_ queue: any Auditing, _ name: String) async throws -> Int {
        var (checked, faults) = (0, 0)
        var cursor: String?
        repeat {
            let page = try await queue.audit(after: cursor, repairing: repair)
            for fault in page.faults {
                StandardStreams.printLine("\(name): \(fault)\(repair ? " (mended)" : "")")
            }
            checked += page.checked
            faults += page.faults.count
            cursor = page.next
        } while cursor != nil
        StandardStreams.printLine("\(name): \(checked) looked at, \(faults) faults")
        return faults
    }
}
