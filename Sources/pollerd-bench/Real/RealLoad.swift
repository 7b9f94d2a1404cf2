import BenchPlan
import JSONText
import Poller
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerUpstreams
import PollerWatches
import Synchronization

/// A load for real workers.
///
/// | case | accounts | load | limits of an account |
/// |---|---|---|---|
/// | `http`, `tls` | 1 | all are overdue | none |
/// | `changes`, `changes_tls` | 1 | all are overdue, and each poll observes a change | none |
/// | `paced_100` | 20 | 100 a second | the defaults |
/// | `paced_1000` | 100 | 1,000 a second | the defaults |
/// | `paced_4000` | 100 | 4,000 a second | none: it is twice the defaults |
/// | `in_flight_1000` | 1 | responses that take four seconds, for memory only | none |
struct RealLoad: Sendable {
    let name: String
    let title: String
    let accounts: Int
    /// Polls a second, or `nil` for the maximum.
    let rate: Int?
    var isTLS = false
    /// Whether each poll observes a change of the status.
    var isChanging = false
    /// Whether the default limits of an account apply.
    var isLimited = false
    /// Polls in flight due to a slow upstream, or `nil` if it responds at once.
    var held: Int?
    /// The number of processes that share the load.
    var workers = 1
    /// Additional watches that wait for an hour or more, at least one per account.
    var pending = 0

    /// Creates a load of a series that varies one value.
    init(_ title: String, accounts: Int, rate: Int?) {
        name = title
        self.title = title
        self.accounts = accounts
        self.rate = rate
    }

    /// Creates one of the loads named in the report.
    init(_ load: BenchPlan.RealLoad) {
        name = load.rawValue
        switch load {
        case .http: (title, accounts, rate) = ("polls of a worker, HTTP", 1, nil)
        case .tls: (title, accounts, rate) = ("polls of a worker, TLS", 1, nil)
        case .changes: (title, accounts, rate) = ("polls that see a change, HTTP", 1, nil)
        case .changesTLS: (title, accounts, rate) = ("polls that see a change, TLS", 1, nil)
        case .paced100: (title, accounts, rate) = ("100/s over 20 accounts", 20, 100)
        case .paced1000: (title, accounts, rate) = ("1,000/s over 100 accounts", 100, 1000)
        case .paced4000: (title, accounts, rate) = ("4,000/s over 100 accounts", 100, 4000)
        case .inFlight1000: (title, accounts, rate) = ("1,000 polls in flight", 1, nil)
        }
        held = load == .inFlight1000 ? 1000 : nil
        isTLS = load == .tls || load == .changesTLS
        isChanging = load == .changes || load == .changesTLS
        isLimited = load == .paced100 || load == .paced1000
    }

    /// The time under load before the measurement, in which connections open and workers divide the partitions.
    var warmUp: Duration { rate == nil ? .seconds(1) : workers > 1 ? .seconds(8) : .seconds(2) }
}

/// The due times of watches within a span.
///
/// Even times give an account its share of the rate at every moment. Random ones, as of independent watches, exceed the
/// limit of an account now and then, and those polls wait for the limit rather than for the worker.
struct DueOffsets: Sendable {
    private let span: Duration
    /// The slot of each watch, or `nil` for random times.
    private let slots: [WatchKey: Int]?
    private let slotCount: Int

    /// Spreads watches over a span, evenly for each account and for all.
    init(_ keys: [WatchKey], over span: Duration, isRandom: Bool) {
        self.span = span
        guard span > .zero, !isRandom else {
            slots = nil
            slotCount = 1
            return
        }
        // The first watch of each account, then the second of each.
        var numbers: [AccountID: Int] = [:]
        var counts: [AccountID: Int] = [:]
        let order = keys.map { key in
            let round = counts[key.account, default: 0]
            counts[key.account] = round + 1
            let number = numbers[key.account] ?? numbers.count
            numbers[key.account] = number
            return (round: round, number: number)
        }
        var slots: [WatchKey: Int] = [:]
        for (key, place) in zip(keys, order) {
            slots[key] = place.round * numbers.count + place.number
        }
        self.slots = slots
        slotCount = (counts.values.max() ?? 1) * max(numbers.count, 1)
    }

    /// Returns the time from the start of the span until a watch is due.
    func offset(of key: WatchKey) -> Duration {
        guard let slots else { return .milliseconds(Int64.random(in: 0...span.ms)) }
        return span * (slots[key] ?? 0) / slotCount
    }
}

/// Makes new watches look like old ones: polled often, still pending, due again within a span.
final class SteadyHandler: ItemHandler {
    /// The number of polls without a change after which the policy's interval is longest.
    private static let patientStep = 20

    private let due: ContinuousClock.Instant
    private let offsets: DueOffsets
    private let first: FirstPollState?
    private let done = Mutex(0)

    /// Creates a handler.
    ///
    /// `first` is the result of the first poll.
    init(due: ContinuousClock.Instant, offsets: DueOffsets, first: FirstPollState?) {
        self.due = due
        self.offsets = offsets
        self.first = first
    }

    /// The number of handled watches.
    var count: Int { done.withLock { $0 } }

    func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
        let watch = leased.item
        var state = watch.state
        state.status = SourceStatus(unchecked: "pending")
        state.attempts = Self.patientStep
        state.step = Self.patientStep
        done.withLock { $0 += 1 }
        let wait = ContinuousClock.now.duration(to: due)
        let share = offsets.offset(of: watch.key)
        return Decision(
            verdict: .next(after: max(wait, .zero) + share),
            change: WatchChange(
                state: state,
                payment: first?.memory(of: watch, at: leased.now),
                secret: first?.secret
            ),
            commitsAtOnce: false
        )
    }
}

/// The state that the first poll of a source leaves in its watch.
///
/// Without it a watch would parse every response again.
struct FirstPollState: Sendable {
    private let source: SourceID
    private let answer: String
    /// The payment's client secret, taken from the first response.
    let secret: ClientSecret?

    /// Requests one source.
    ///
    /// The responses for others differ only in the id.
    init(of key: WatchKey, at url: String) async throws {
        source = key.source
        answer = try await BenchRequest.text("\(url)/v1/sources/\(key.source)")
        let text = RawJSON(answer)?.member("client_secret")?.string
        secret = text.flatMap { try? ClientSecret($0) }
    }

    /// Returns the stored memory of a payment.
    func memory(of watch: Watch, at now: Timestamp) -> PaymentMemory? {
        let text = answer.replacing("\(source)", with: "\(watch.key.source)")
        guard let object = RawJSON(text) else { return nil }
        let facts = StripePayments().facts(
            of: watch.key,
            in: object,
            charge: nil,
            lists: .unread,
            seenAt: now
        )
        let digest = BodyDigest.text(of: Array(text.utf8))
        return facts.map { PaymentReading($0, object: digest, after: nil).memory }
    }
}
