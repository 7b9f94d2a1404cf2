import BenchPlan
import JSONText
import Poller
import PollerIdentity
import PollerQueue
import PollerUpstreams
import Synchronization

/// What is asked of real workers.
///
/// | case | accounts | load | limits of an account |
/// |---|---|---|---|
/// | `http`, `tls` | 1 | all are overdue | none |
/// | `paced_100` | 20 | 100 a second | the defaults |
/// | `paced_1000` | 100 | 1,000 a second | the defaults |
/// | `paced_4000` | 100 | 4,000 a second | none: it is twice what the defaults allow |
/// | `in_flight_1000` | 1 | answers that take four seconds; memory alone is read | none |
struct RealLoad: Sendable {
    let name: String
    let title: String
    let accounts: Int
    /// Polls a second; nil: as many as it can.
    let rate: Int?
    var isTLS = false
    /// Under the limits that an account has by default.
    var isLimited = false
    /// Polls in flight that the upstream's slowness makes; nil: it answers at once.
    var held: Int?
    /// Processes that share it.
    var workers = 1
    /// Watches that wait for an hour or more beside it, at least one of each account.
    var pending = 0

    /// A load that one thing is changed in, to see what grows with it.
    init(_ title: String, accounts: Int, rate: Int?) {
        name = title
        self.title = title
        self.accounts = accounts
        self.rate = rate
    }

    /// One of those that the report names.
    init(_ load: BenchPlan.RealLoad) {
        name = load.rawValue
        switch load {
        case .http: (title, accounts, rate) = ("polls of a worker, HTTP", 1, nil)
        case .tls: (title, accounts, rate) = ("polls of a worker, TLS", 1, nil)
        case .paced100: (title, accounts, rate) = ("100/s over 20 accounts", 20, 100)
        case .paced1000: (title, accounts, rate) = ("1,000/s over 100 accounts", 100, 1000)
        case .paced4000: (title, accounts, rate) = ("4,000/s over 100 accounts", 100, 4000)
        case .inFlight1000: (title, accounts, rate) = ("1,000 polls in flight", 1, nil)
        }
        held = load == .inFlight1000 ? 1000 : nil
        isTLS = load == .tls
        isLimited = load == .paced100 || load == .paced1000
    }

    /// How long the load is on before the measurement: connections are opened, and workers agree on their shares.
    var warmUp: Duration { rate == nil ? .seconds(1) : workers > 1 ? .seconds(8) : .seconds(2) }
}

/// Makes new watches look like old ones: polled often, pending as before, due again within a span.
final class SteadyHandler: ItemHandler {
    /// Polls without a change after which a watch waits as long as its policy ever lets it.
    private static let patientStep = 20

    private let due: ContinuousClock.Instant
    private let span: Duration
    private let first: FirstLook?
    private let done = Mutex(0)

    /// `first` is what the first of their polls has seen.
    init(due: ContinuousClock.Instant, span: Duration, first: FirstLook?) {
        self.due = due
        self.span = span
        self.first = first
    }

    /// Watches handled so far.
    var count: Int { done.withLock { $0 } }

    func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
        let watch = leased.item
        var state = watch.state
        state.status = SourceStatus(unchecked: "pending")
        state.attempts = Self.patientStep
        state.step = Self.patientStep
        done.withLock { $0 += 1 }
        let wait = ContinuousClock.now.duration(to: due)
        let share = Duration.milliseconds(Int64.random(in: 0...span.ms))
        return Decision(
            verdict: .next(after: max(wait, .zero) + share),
            change: WatchChange(
                state: state,
                payment: first?.memory(of: watch, at: leased.now),
                secret: first?.secret
            ),
            isNews: false
        )
    }
}

/// What the first poll of a source leaves in its watch: a watch without it would read every answer anew.
struct FirstLook: Sendable {
    private let source: SourceID
    private let answer: String
    /// The payment's own secret, which is learned from the first answer.
    let secret: ClientSecret?

    /// Asks about one source; the others are answered alike, each with its own id.
    init(of key: WatchKey, at url: String) async throws {
        source = key.source
        answer = try await BenchRequest.text("\(url)/v1/sources/\(key.source)")
        let text = RawJSON(answer)?.member("client_secret")?.string
        secret = text.flatMap { try? ClientSecret($0) }
    }

    /// What is remembered of a payment.
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
        return facts.map { PaymentLook($0, object: digest, after: nil).memory }
    }
}
