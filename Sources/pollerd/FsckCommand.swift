import ArgumentParser
import Foundation
import Logging
import PollerQueue
import ProgramOutput
import RedisClient

/// `pollerd fsck`: checks the invariants of the store, on the live cluster.
struct Fsck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fsck",
        abstract: "Check the consistency of the store; exit 1 if it has faults.",
        discussion: """
            Checks a few hundred items at a time in atomic steps, so it may run while the cluster
            works. With --repair it corrects the faults: an item that is in no schedule becomes due
            now, an item with two entries keeps its lease or its urgent entry, and slots are counted
            again. It deletes nothing except records without a lane. Lost events, and items in a
            wrong partition, cannot be repaired: they are shown, and it exits 1.
            """
    )

    @ArgumentParser.Flag(help: "Repair the faults.")
    var repair = false

    @OptionGroup var flags: Flags

    func run() async throws {
        let (faults, lasting) = try await Cluster.withStore(flags, as: "fsck") { cluster, _, _ in
            let watches = try await audit(cluster.watches, "watches")
            let deliveries = try await audit(cluster.deliveries, "deliveries")
            return (watches.faults + deliveries.faults, watches.lasting + deliveries.lasting)
        }
        if faults > lasting, !repair {
            StandardStreams.printLine(
                "run pollerd fsck --repair to repair \(faults == 1 ? "it" : "them")"
            )
        }
        if lasting > 0 {
            StandardStreams.printLine(
                "\(lasting) cannot be repaired; see pollerd fsck in OperatingACluster"
            )
        }
        if repair ? lasting > 0 : faults > 0 { throw ExitCode(1) }
    }

    /// Checks one queue, prints each fault, and returns their number and that of the faults that stay after a repair.
    private func audit(
        _ queue: any Auditing,
        _ name: String
    ) async throws -> (faults: Int, lasting: Int) {
        var (checked, faults, lasting) = (0, 0, 0)
        var cursor: String?
        repeat {
            let page = try await queue.audit(after: cursor, repairing: repair)
            for fault in page.faults {
                let isRepaired = repair && !page.lasting.contains(fault)
                StandardStreams.printLine("\(name): \(fault)\(isRepaired ? " (repaired)" : "")")
            }
            checked += page.checked
            faults += page.faults.count
            lasting += page.lasting.count
            cursor = page.next
        } while cursor != nil
        StandardStreams.printLine("\(name): \(checked) checked, \(faults) faults")
        return (faults, lasting)
    }
}
