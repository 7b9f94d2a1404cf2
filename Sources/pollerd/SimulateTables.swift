import Foundation
import PollerIdentity
import PollerPlanning
import SafeNumbers

/// The output of `pollerd simulate`.
extension Simulate {
    /// Returns one JSON object with its members in order.
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Returns the table of expected values for an account.
    static func months(_ runs: [SimulatedRun]) -> String {
        let head = [
            "LIFE", "POLICY", "SOURCES/30d", "OPEN", "WHO TELLS", "GETs/SOURCE", "OF THEM SWEEPS",
            "KNOWN p50", "p99", "UNSEEN", "POLLS/s", "ALLOWANCE", "STRETCH",
        ]
        let rows = runs.map(\.month).map { outcome in
            [
                Duration.seconds(Int64(saturating: outcome.lifeSeconds)).text, outcome.policy,
                "\(outcome.sourcesPerMonth)", number(outcome.open), outcome.hints,
                number(outcome.getsPerSource), number(outcome.sweepsPerSource),
                seconds(outcome.knownMedianSeconds), seconds(outcome.known99Seconds),
                number(outcome.unseen * 100) + " %", number(outcome.pollsPerSecond),
                number(outcome.allowanceUsed * 100) + " %", number(outcome.stretch),
            ]
        }
        return table(head, rows)
    }

    /// Returns the table of the cluster for all accounts: cores and, in brackets, processes.
    ///
    /// If a role is not possible, the reason is below the table.
    static func clusters(_ runs: [SimulatedRun]) -> String {
        let head = [
            "LIFE", "WHO TELLS", "PAYMENTS/s", "POLLS/s", "DELIVERIES/s", "REDIS", "MASTERS",
            "PARTITIONS", "CORES: REDIS", "WORKERS", "NOTIFIERS", "API", "GATEWAYS",
        ]
        func role(_ role: PlannedCluster.Role) -> String {
            guard let processes = role.processes else { return "not possible" }
            return processes == 0 ? "–" : "\(number(role.cores)) (\(processes))"
        }
        let rows = runs.map { run in
            let cluster = run.cluster
            return [
                Duration.seconds(Int64(saturating: run.month.lifeSeconds)).text, run.month.hints,
                number(cluster.paymentsPerSecond), number(cluster.pollsPerSecond),
                number(cluster.deliveriesPerSecond), number(cluster.redisBytes / 1e9) + " GB",
                "\(cluster.masters)", "\(cluster.partitions)", number(cluster.redisCores),
                role(cluster.worker), role(cluster.notifier), role(cluster.api),
                role(cluster.gateway),
            ]
        }
        let roles = runs.map(\.cluster).flatMap { [$0.worker, $0.notifier, $0.api, $0.gateway] }
        guard roles.contains(where: { $0.processes == nil }) else { return table(head, rows) }
        let why = "each process reads every event, which alone uses the whole core"
        return table(head, rows) + "\n\n\(PlannedCluster.Role.impossible): \(why)"
    }

    /// The table of unit costs.
    static var costsTable: String {
        let rows = PlannedCost.allCases.map { cost in
            [cost.rawValue, number(cost.value), cost.entry.unit, cost.entry.source]
        }
        return table(["COST", "VALUE", "UNIT", "SOURCE"], rows)
    }

    /// Returns the unit costs as one object.
    static func costsJSON() throws -> String {
        let entries = PlannedCost.allCases.map { ($0.rawValue, $0.entry) }
        return try json(Dictionary(uniqueKeysWithValues: entries))
    }

    private static func table(_ head: [String], _ rows: [[String]]) -> String {
        let widths = head.indices.map { column in
            ([head] + rows).map { $0[column].count }.max() ?? 0
        }
        return ([head] + rows).map { row in
            zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// Formats with three significant digits.
    private static func number(_ value: Double) -> String {
        value >= 100
            ? "\(Int(saturating: value.rounded()))"
            : String(format: value >= 10 ? "%.1f" : "%.2f", value)
    }

    private static func seconds(_ value: Double?) -> String {
        value.map { number($0) + " s" } ?? "–"
    }
}
