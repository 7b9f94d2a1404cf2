import ArgumentParser
import Foundation
import Poller
import PollerIdentity
import PollerRedis

/// The load of a plan apart from its payments: recipients, live connections, retention.
struct SimulatedLoad: ParsableArguments {
    @ArgumentParser.Option(help: "Accounts that share the traffic evenly; each is a lane.")
    var accounts = 1

    @ArgumentParser.Option(help: "Events that a payment has in the end.")
    var events = 5.0

    @ArgumentParser.Option(help: "Receivers that each event is delivered to.")
    var deliveries = 1.0

    @ArgumentParser.Option(
        help: "Names that a payment can be found by; by default those of the configuration."
    )
    var names: Double?

    @ArgumentParser.Option(help: "Live connections at once.")
    var listeners = 0.0

    @ArgumentParser.Option(help: "Of these, how many hear an event, on average.")
    var heard = 1.0

    @ArgumentParser.Option(help: "How long a listener stays.")
    var stay = "10m"

    @ArgumentParser.Option(
        help: "Payments in a hundred whose money may come back: kept as long as afterlife says."
    )
    var returnable = 0.0

    @ArgumentParser.Option(
        help: "How long the traffic has been on; by default until as much is forgotten as comes."
    )
    var age: String?

    @ArgumentParser.Option(help: "GB of memory that one master of Redis may fill.")
    var masterMemory = 24.0

    @ArgumentParser.Option(
        help: "Processes of each role; by default as many as it takes, of which one may die."
    )
    var processes: Int?

    func validate() throws {
        _ = try span("--stay", stay)
        _ = try age.map { try span("--age", $0) }
        let numbers = [
            ("--events", events, 1, 1000), ("--deliveries", deliveries, 0, 1000),
            ("--names", names ?? 0, 0, 8), ("--listeners", listeners, 0, 1e8),
            ("--heard", heard, 0, 1e8), ("--returnable", returnable, 0, 100),
            ("--master-memory", masterMemory, 0.1, 10_000),
            ("--accounts", Double(accounts), 1, 1e6),
            ("--processes", Double(processes ?? 1), 1, 1e4),
        ]
        for (name, value, least, most) in numbers where !(least...most).contains(value) {
            throw ValidationError("\(name) is from \(least) to \(most)")
        }
    }

    /// Returns the same load for the planner, with the values of the configuration.
    func planned(_ settings: Settings) throws -> PlannedLoad {
        var load = PlannedLoad()
        load.accounts = accounts
        load.events = events
        load.deliveries = deliveries
        load.names = names ?? Double(settings.searchKeys.names.count)
        load.listeners = listeners
        load.heard = heard
        load.stay = try span("--stay", stay)
        load.processes = processes
        load.returnable = returnable
        load.retention = settings.retention
        load.age = try age.map { try span("--age", $0) }
        load.masterBytes = masterMemory * 1e9
        return load
    }

    private func span(_ name: String, _ text: String) throws -> Duration {
        guard let span = Duration(text: text), span >= .seconds(1) else {
            throw ValidationError("\(name) is a span such as 10m")
        }
        return span
    }
}

/// The plan for one traffic: the month of an account, and the cluster for all accounts.
struct SimulatedRun: Encodable {
    let month: PlannedOutcome
    let cluster: PlannedCluster

    /// Plans both.
    init(_ traffic: PlannedTraffic, sample: Int, _ load: PlannedLoad) {
        var planned = PlannedMonth(
            traffic,
            sourcesMax: sample,
            using: SystemRandomNumberGenerator()
        )
        month = planned.run()
        cluster = PlannedCluster(month, load, hottest: PartitionSpread.hottest(partitions:masters:))
    }

    /// Encodes the month's members, and the cluster as one more member.
    func encode(to encoder: any Encoder) throws {
        try month.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(cluster, forKey: .cluster)
    }

    private enum CodingKeys: String, CodingKey {
        case cluster
    }
}
