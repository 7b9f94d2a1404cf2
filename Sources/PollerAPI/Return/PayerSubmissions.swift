import JSONText
import Logging
import Poller
import PollerDeliveries
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerQueue
import PollerWatches
import Synchronization

/// Submissions of payers, and of services on their behalf, to the upstream.
///
/// The requests to the upstream are limited: one at a time and one per two seconds for each payment, and 32 at a time
/// for this process. The watch's next poll reads the result of a code. The poll is due at once and obeys the limits of
/// all polls. The submission waits for it if the upstream's response was inconclusive.
struct PayerSubmissions {
    /// The timeout of the upstream's response, while a person waits in front of a page.
    private static let timeout = Duration.seconds(10)
    /// The wait for the next poll, which comes within a second unless its lane is full.
    private static let pollWait = Duration.seconds(5)

    private let upstream: (any PayerUpstream)?
    private let watches: any WatchStore
    private let polls: LongPolls
    private let limits: PayerLimits
    private let logger: Logger

    init(
        upstream: (any PayerUpstream)?,
        watches: any WatchStore,
        polls: LongPolls,
        clock: any Clock<Duration>,
        logger: Logger
    ) {
        self.upstream = upstream
        self.watches = watches
        self.polls = polls
        limits = PayerLimits(elapsed: clock.stopwatch())
        self.logger = logger
    }

    /// Returns the form for a payer; `nil` if there is nothing to fill in.
    func form(of snapshot: WatchSnapshot) -> PayerForm? {
        guard upstream != nil, snapshot.watch.key.kind == .source, let event = snapshot.lastEvent
        else { return nil }
        if event.nextStep.asksForAccount {
            // A refund also needs an account after the watch has closed.
            return RefundAccount.Sort(paidBy: Self.method(of: event)).map { .account($0) }
        }
        return snapshot.closed == nil ? PayerForm(event.nextStep) : nil
    }

    /// Submits a code.
    ///
    /// The watch is polled as soon as the upstream has responded.
    func verify(
        _ snapshot: WatchSnapshot,
        with values: VerificationValues
    ) async throws -> VerificationResult {
        guard Self.hasVerification(snapshot) else { return .notRequired }
        guard let upstream else { return .unknown("this process has no upstream to tell") }
        let watch = snapshot.watch
        guard limits.enter(watch.key.id) else { throw Self.tooSoon }
        defer { limits.leave(watch.key.id) }
        let result = await upstream.verify(watch, with: values, timeout: Self.timeout)
        await tryToHint(watch.key, of: .anything)
        switch result {
        case .accepted, .exhausted, .notRequired, .refused(attemptsLeft: .some): return result
        case .refused(attemptsLeft: nil), .unknown:
            return try await observedResult(after: snapshot) ?? result
        }
    }

    /// Submits a refund account.
    ///
    /// The watch is polled for its money, even if it is closed.
    func submitRefundAccount(
        _ account: RefundAccount,
        for snapshot: WatchSnapshot
    ) async throws -> RefundAccountResult {
        let watch = snapshot.watch
        guard watch.key.kind == .source, let method = snapshot.lastEvent.flatMap(Self.method)
        else { return .notRequired }
        guard let upstream else { return .unknown("this process has no upstream to tell") }
        guard limits.enter(watch.key.id) else { throw Self.tooSoon }
        defer { limits.leave(watch.key.id) }
        let result = await upstream.submit(
            account,
            for: watch,
            paidBy: method,
            timeout: Self.timeout
        )
        if result == .taken { await tryToHint(watch.key, of: .money) }
        return result
    }

    /// Makes the watch due if possible.
    ///
    /// The upstream has the submission already, so a failure does not change its result. The change is then found by
    /// the next poll, or by the event of the upstream.
    private func tryToHint(_ key: WatchKey, of topic: HintTopic) async {
        do throws(StoreError) {
            _ = try await watches.hint(key, of: topic)
        } catch {
            logger.warning("no hint after a payer's submission", metadata: ["error": "\(error)"])
        }
    }

    /// Returns the payment method, if observed.
    private static func method(of event: Event) -> PaymentMethod? {
        UpstreamObject(event).method ?? event.payment?.method
    }

    private static let tooSoon = Problem(
        .tooManyTries,
        "A payment has one try in two seconds, and one at a time; send it again.",
        retryAfterSeconds: 2
    )

    /// Returns the result of a code from the next poll; `nil` if the poll found no change.
    private func observedResult(after snapshot: WatchSnapshot) async throws -> VerificationResult? {
        let (key, seq) = (snapshot.watch.key, snapshot.watch.seq)
        let found = try await polls.first(
            within: Self.pollWait,
            matching: Interest(in: .watch(key), afterSeq: seq)
        ) { () async throws -> WatchSnapshot? in
            guard let now = try await watches.snapshot(of: key) else { return nil }
            return now.watch.seq > seq ? now : nil
        }
        guard let event = found?.lastEvent, let payment = event.payment else { return nil }
        switch (payment.state, event.nextStep) {
        case (.awaitingCustomer, .enterCode(let left?)): return .refused(attemptsLeft: left)
        case (.awaitingCustomer, .verifyMicrodeposits(let deposits)):
            return deposits.attemptsLeft.map { .refused(attemptsLeft: $0) }
        case (.awaitingCustomer, _): return nil
        case (.failed, _), (.expired, _), (.cancelled, _): return .exhausted
        default: return .accepted
        }
    }

    /// Returns whether a payment requests a code, or has requested one.
    private static func hasVerification(_ snapshot: WatchSnapshot) -> Bool {
        guard snapshot.watch.key.kind == .source, let event = snapshot.lastEvent else {
            return false
        }
        if PayerForm(event.nextStep) != nil { return true }
        let object = RawJSON(unchecked: event.json).member("object")
        return ["code_verification", "verification"].contains { name in
            object?.member(name)?.member("status") != nil
        }
    }
}

/// The form that a payer fills in.
enum PayerForm: Hashable {
    case code
    /// The amounts of two deposits.
    case amounts
    case account(RefundAccount.Sort)

    /// Creates the verification form of a step; `nil` for a step that is done elsewhere.
    init?(_ step: NextStep) {
        switch step {
        case .enterCode: self = .code
        case .verifyMicrodeposits(let deposits) where deposits.url == nil:
            self = deposits.sort == "descriptor_code" ? .code : .amounts
        default: return nil
        }
    }

    /// Parses the payer's input.
    ///
    /// A decimal amount, as banks print it, becomes one in the smallest unit.
    func values(of texts: [String]) throws(InvalidInput) -> VerificationValues {
        let plain = texts.map { $0.filter { !$0.isWhitespace } }
        guard self == .amounts else { return try VerificationValues(plain) }
        return try VerificationValues(plain.map(Self.smallest))
    }

    /// Returns the smallest unit of a decimal amount, and any other text unchanged.
    ///
    /// `0.32` and `0,32` become 32. The upstream validates other text.
    private static func smallest(_ text: String) -> String {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let isDecimal = parts.count == 2 && parts.last?.count == 2
        let digits = isDecimal ? parts.joined() : text
        return Amount(decimal: digits).map { "\($0)" } ?? digits
    }
}

/// The limits of payers' requests to the upstream.
final class PayerLimits: Sendable {
    /// The maximum concurrent requests of payers at the upstream, low next to the hundreds of polls of a cluster.
    static let countMax = 32
    /// The minimum pause between submissions, as a person types no faster.
    static let pause = Duration.seconds(2)

    private let last: HintThrottle
    private let inFlight = Mutex<Set<ItemID>>([])

    init(elapsed: @escaping @Sendable () -> Duration) {
        last = HintThrottle(elapsed: elapsed)
    }

    /// Takes a slot; `false` if none is free, or if the payment had one within the pause.
    func enter(_ id: ItemID) -> Bool {
        inFlight.withLock { inFlight in
            guard inFlight.count < Self.countMax, !inFlight.contains(id),
                last.isDue(id, after: Self.pause)
            else { return false }
            inFlight.insert(id)
            return true
        }
    }

    /// Releases the slot.
    func leave(_ id: ItemID) {
        inFlight.withLock { _ = $0.remove(id) }
    }
}

extension PayerAction {
    /// Creates the action of a submitted form.
    init(_ form: PayerForm) {
        switch form {
        case .code: self = .code
        case .amounts: self = .amounts
        case .account: self = .account
        }
    }
}
