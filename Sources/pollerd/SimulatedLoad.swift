import ArgumentParser
import Foundation
import PollerIdentity
import PollerPlanning
import PollerRedis
import PollerWatches

/// The load of a plan apart from its payments: recipients, live connections, retention.
struct SimulatedLoad: ParsableArguments {
    @ArgumentParser.Option(help: "Accounts that share the traffic evenly. Each is a lane.")
    var accounts = 1

    @ArgumentParser.Option(help: "Total events per payment.")
    var events = 5.0

    @ArgumentParser.Option(help: "Recipients per event.")
    var deliveries = 1.0

    @ArgumentParser.Option(
        help: "Search keys per payment. Default: the configuration's number."
    )
    var names: Double?

    @ArgumentParser.Option(help: "Concurrent live connections.")
    var listeners = 0.0

    @ArgumentParser.Option(
        name: .customLong("heard"),
        help: "Average number of live connections that receive an event."
    )
    var listenersPerEvent = 1.0

    @ArgumentParser.Option(help: "Average duration of a live connection.")
    var stay = "10m"

    @ArgumentParser.Option(
        help: "Percentage of payments that may be reversed, kept for the option afterlife."
    )
    var returnable = 0.0

    @ArgumentParser.Option(
        help: "Duration of the traffic. Default: until retention deletes as much as arrives."
    )
    var age: String?

    @ArgumentParser.Option(help: "Memory limit of one Redis master, in GB.")
    var masterMemory = 24.0

    @ArgumentParser.Option(
        help: "Processes of each role. Default: as many as needed, with one to spare."
    )
    var processes: Int?

    func validate() throws {
        _ = try span("--stay", stay)
        _ = try age.map { try span("--age", $0) }
        let numbers = [
            ("--events", events, 1, 1000), ("--deliveries", deliveries, 0, 1000),
            ("--names", names ?? 0, 0, 8), ("--listeners", listeners, 0, 1e8),
            ("--heard", listenersPerEvent, 0, 1e8), ("--returnable", returnable, 0, 100),
            ("--master-memory", masterMemory, 0.1, 10_000),
            ("--accounts", Double(accounts), 1, 1e6),
            ("--processes", Double(processes ?? 1), 1, 1e4),
        ]
        for (name, value, least, most) in numbers where !(least...most).contains(value) {
            throw ValidationError("\(name) must be from \(least) to \(most)")
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
        load.listenersPerEvent = listenersPerEvent
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
            throw ValidationError("\(name) must be a duration such as 10m")
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
