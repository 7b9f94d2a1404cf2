import PollerIdentity
import PollerTesting
import Testing

@testable import PollerQueue
@testable import PollerWatches

/// Simulates a worker's decisions with a store and polls, in virtual time and with a seeded random generator.
@Suite("InFlight simulation")
struct InFlightSimulationTests {
    @Test(
        "limits and start times hold, changes are committed at once and other results in time",
        arguments: UInt64(0)..<20
    )
    func play(_ seed: UInt64) throws {
        var play = WorkerPlay(seed: seed)
        #expect(throws: Never.self) { try play.run() }
    }
}

/// The failure of a simulation, with its seed.
private struct PlayFailure: Error, CustomStringConvertible {
    let description: String
}

/// A simulation that calls the worker only at the instants it requested, as the real loop does.
private struct WorkerPlay {
    typealias Machine = InFlight<Int, Int, ManualClock.Instant>

    /// An item in the store, with times in milliseconds since the start of the simulation.
    private struct Item {
        let partition: Int
        var due: Int
        var isLeased = false
        var polls = 0
        /// When its handler finished, its next wait, and whether it found a change.
        var done: (at: Int, wait: Int, commitsAtOnce: Bool)?
    }

    private enum Event {
        case answer(Machine.Exchange, ExchangeAnswer<Int>, asked: Int)
        case finish(Machine.Work)
        case enqueue(Int)
    }

    /// The longest round trip to the store, in milliseconds.
    private static let tripMax = 3
    private static let end = 10_000

    private let concurrency: Int
    private let isTight: Bool
    private let ahead = 100
    private var generator: SeededGenerator
    private var machine: Machine
    private var items: [Item] = []
    private var events: [(at: Int, event: Event)] = []
    private var running = 0
    private var now = 0

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        isTight = seed % 3 == 0
        concurrency = isTight ? 3 : 64
        let partitions = Int.random(in: 1...16, using: &generator)
        machine = Machine(
            partitions: partitions,
            settings: LeaseWorkerSettings(
                owner: Sample.owner,
                concurrency: concurrency,
                lease: .seconds(12),
                lane: .unlimited,
                drainTimeout: .seconds(5),
                ahead: .milliseconds(ahead)
            ),
            now: .init(offset: .zero)
        )
        for _ in 0..<40 {
            let partition = Int.random(in: 0..<partitions, using: &generator)
            items.append(Item(partition: partition, due: .max))
        }
        for index in items.indices {
            events.append((Int.random(in: 0...3000, using: &generator), .enqueue(index)))
        }
    }

    mutating func run() throws {
        var wakeAt = 0
        var isDraining = false
        while true {
            if wakeAt <= now {
                guard let until = try act() else { break }
                wakeAt = until
            }
            if now >= Self.end, !isDraining {
                isDraining = true
                _ = machine.drain(now: at(now))
                wakeAt = now
                continue
            }
            let next = events.indices.min { events[$0].at < events[$1].at }
            let soonest = next.map { events[$0].at } ?? .max
            let limit = isDraining ? .max : Self.end
            now = max(now, min(soonest, wakeAt, limit))
            if let next, soonest <= now, try take(events.remove(at: next).event) { wakeAt = now }
        }
        try require(running == 0 && machine.held == 0, "something is in hand after the drain")
        try require(!items.contains(where: \.isLeased), "a lease is left after the drain")
        try require(items.allSatisfy { $0.polls > 0 }, "an item was never polled")
    }

    /// Performs the due actions, and returns when the worker's sleep ends, or `nil` when the loop has ended.
    private mutating func act() throws -> Int? {
        while true {
            switch machine.next(now: at(now)) {
            case .start(let works): for work in works { try start(work) }
            case .exchange(let together):
                for exchange in together {
                    let answer = try answer(exchange)
                    let trip = Int.random(in: 1...Self.tripMax, using: &generator)
                    events.append((now + trip, .answer(exchange, answer, asked: now)))
                }
            case .cancelHandlers: break
            case .sleep(let until):
                let wakeAt = Int((until.offset / .milliseconds(1)).rounded(.up))
                try require(wakeAt > now, "it sleeps until a time that has passed")
                return wakeAt
            case .end: return nil
            }
        }
    }

    /// Applies an event, and returns whether it wakes the worker.
    private mutating func take(_ event: Event) throws -> Bool {
        switch event {
        case .answer(let exchange, let answer, let asked):
            _ = machine.answered(answer, to: exchange, asked: at(asked), now: at(now))
            return true
        case .finish(let work):
            running -= 1
            let commitsAtOnce = Int.random(in: 0..<10, using: &generator) == 0
            let wait = Int.random(in: 20...2000, using: &generator)
            items[work.lease.item].done = (now, wait, commitsAtOnce)
            let decision = Decision(
                verdict: .next(after: .milliseconds(wait)),
                change: 0,
                commitsAtOnce: commitsAtOnce
            )
            return machine.finished(work, decision, now: at(now))
        case .enqueue(let index):
            items[index].due = now
            machine.wake(partition: items[index].partition, now: at(now))
            return true
        }
    }

    private mutating func start(_ work: Machine.Work) throws {
        let item = items[work.lease.item]
        running += 1
        items[work.lease.item].polls += 1
        try require(running <= concurrency, "\(running) handlers run")
        try require(now >= item.due, "started \(item.due - now) ms early")
        // An exchange may be in flight, and the next one then brings the item.
        let late = now - item.due
        try require(isTight || late <= 2 * Self.tripMax + 1, "started \(late) ms late")
        let took = Int.random(in: 1...40, using: &generator)
        events.append((now + took, .finish(work)))
    }

    /// Performs an exchange as the store does, and returns its answer.
    private mutating func answer(_ exchange: Machine.Exchange) throws -> ExchangeAnswer<Int> {
        for result in exchange.results { try record(result) }
        let results = exchange.results.map { _ in CommitResult?.some(.done) }
        guard let request = exchange.claim else { return ExchangeAnswer(results: results) }
        let mine = items.indices.filter {
            items[$0].partition == exchange.partition && !items[$0].isLeased
        }
        let horizon = now + Int(request.ahead.ms)
        let taken = mine.filter { items[$0].due <= horizon }
            .sorted { items[$0].due < items[$1].due }
            .prefix(request.limit)
        for index in taken { items[index].isLeased = true }
        let next = mine.filter { !items[$0].isLeased && items[$0].due < .max }
            .map { items[$0].due }.min()
        let claim = Claim(
            leases: taken.map { lease($0) },
            now: time(now),
            nextReady: next.map { time(max($0, now)) }
        )
        return ExchangeAnswer(results: results, claim: claim)
    }

    private mutating func record(_ result: Machine.Exchange.Result) throws {
        switch result.operation {
        case .release(let ref): items[number(of: ref)].isLeased = false
        case .commit(let commit):
            let index = number(of: commit.ref)
            guard let done = items[index].done, case .next(let wait) = commit.verdict else {
                throw PlayFailure(description: "a result that no handler has come to")
            }
            let waited = now - done.at
            let allowed = (done.commitsAtOnce ? 0 : 80) + Self.tripMax
            try require(waited <= allowed, "a result has waited \(waited) ms")
            items[index].due = now + Int(wait.ms)
            items[index].isLeased = false
            items[index].done = nil
            let wanted = max(done.at + done.wait, now)
            try require(items[index].due == wanted, "due \(items[index].due), not \(wanted)")
        }
    }

    private func lease(_ index: Int) -> Lease<Int> {
        Lease(
            ref: LeaseRef(
                id: ItemID(unchecked: String(index)),
                partition: items[index].partition,
                token: 1,
                owner: Sample.owner
            ),
            item: index,
            lane: LaneID(unchecked: "lane"),
            due: time(items[index].due),
            claimedAt: time(now),
            startsAt: time(max(items[index].due, now)),
            endsAt: time(now + 12_000)
        )
    }

    private func number(of ref: LeaseRef) -> Int { Int(ref.id.description) ?? -1 }

    private func at(_ ms: Int) -> ManualClock.Instant { .init(offset: .milliseconds(ms)) }

    private func time(_ ms: Int) -> Timestamp { Timestamp(ms: Int64(ms)) }

    private func require(_ holds: Bool, _ message: String) throws {
        if !holds { throw PlayFailure(description: "at \(now) ms: \(message); \(generator)") }
    }
}
