import JSONText
import Poller
import PollerIdentity
import PollerQueue
import PollerWords
import Synchronization

/// Where payers, and services that have asked them, hand in what the upstream wants to know.
///
/// What may reach the upstream is bounded: a payment has one request there at a time and one in two
/// seconds, and this process 32 at a time. What came of a code is read by the watch's own poll, which is
/// due at once and keeps within the limits all polls share; it is waited for where the upstream's answer
/// left something open.
struct PayerSubmissions {
    /// For the upstream's answer; somebody waits in front of a page.
    private static let timeout = Duration.seconds(10)
    /// For the poll after it, which comes within a second unless its lane is full.
    private static let pollWait = Duration.seconds(5)

    private let upstream: (any PayerUpstream)?
    private let watches: any WatchStore
    private let polls: LongPolls
    private let limits: PayerLimits

    init(
        upstream: (any PayerUpstream)?,
        watches: any WatchStore,
        polls: LongPolls,
        clock: any Clock<Duration>
    ) {
        self.upstream = upstream
        self.watches = watches
        self.polls = polls
        limits = PayerLimits(elapsed: clock.stopwatch())
    }

    /// What a payer can fill in here; nil when that is nothing.
    func form(of snapshot: WatchSnapshot) -> PayerForm? {
        guard upstream != nil, snapshot.watch.key.kind == .source, let event = snapshot.lastEvent
        else { return nil }
        if event.nextStep.asksForAccount {
            // Money goes back also when nobody looks any more.
            return RefundAccount.Sort(paidBy: Self.method(of: event)).map { .account($0) }
        }
        return snapshot.closed == nil ? PayerForm(event.nextStep) : nil
    }

    /// Hands in a code; the watch is looked at as soon as the upstream has said anything to it.
    func verify(
        _ snapshot: WatchSnapshot,
        with values: VerificationValues
    ) async throws -> VerificationResult {
        guard Self.hasVerification(snapshot) else { return .notAsked }
        guard let upstream else { return .unknown("this process has no upstream to tell") }
        let watch = snapshot.watch
        guard limits.enter(watch.key.id) else { throw Self.tooSoon }
        defer { limits.leave(watch.key.id) }
        let result = await upstream.verify(watch, with: values, timeout: Self.timeout)
        _ = try await watches.hint(watch.key)
        switch result {
        case .accepted, .exhausted, .notAsked, .refused(attemptsLeft: .some): return result
        case .refused(attemptsLeft: nil), .unknown: return try await seen(after: snapshot) ?? result
        }
    }

    /// Hands in where money goes back to; the watch is looked at for its money, also where it has ended.
    func give(
        _ account: RefundAccount,
        for snapshot: WatchSnapshot
    ) async throws -> RefundAccountResult {
        let watch = snapshot.watch
        guard watch.key.kind == .source, let method = snapshot.lastEvent.flatMap(Self.method)
        else { return .notAsked }
        guard let upstream else { return .unknown("this process has no upstream to tell") }
        guard limits.enter(watch.key.id) else { throw Self.tooSoon }
        defer { limits.leave(watch.key.id) }
        let result = await upstream.give(account, for: watch, paidBy: method, timeout: Self.timeout)
        if result == .taken { _ = try await watches.hint(watch.key, of: .money) }
        return result
    }

    /// How a payment is paid, as far as was seen.
    private static func method(of event: Event) -> PaymentMethod? {
        UpstreamObject(event).method ?? event.payment?.method
    }

    private static let tooSoon = Problem(
        .tooManyTries,
        "A payment has one try in two seconds, and one at a time; send it again.",
        retryAfterSeconds: 2
    )

    /// What the next poll has seen of the code; nil when it has seen nothing new.
    private func seen(after snapshot: WatchSnapshot) async throws -> VerificationResult? {
        let (key, seq) = (snapshot.watch.key, snapshot.watch.seq)
        let found = try await polls.first(
            within: Self.pollWait,
            hearing: Interest(in: .watch(key), afterSeq: seq)
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

    /// Whether a payment asks for a code, or has asked for one.
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

/// What a payer fills in.
enum PayerForm: Hashable {
    /// One code.
    case code
    /// The amounts of two deposits.
    case amounts
    /// The account that money goes back to.
    case account(RefundAccount.Sort)

    /// What a step asks to verify here; nil for one that is done elsewhere.
    init?(_ step: NextStep) {
        switch step {
        case .enterCode: self = .code
        case .verifyMicrodeposits(let deposits) where deposits.url == nil:
            self = deposits.sort == "descriptor_code" ? .code : .amounts
        default: return nil
        }
    }

    /// Reads what a payer typed: an amount with decimals, as banks print it, is one in the smallest unit.
    func values(of texts: [String]) throws(InvalidInput) -> VerificationValues {
        let plain = texts.map { $0.filter { !$0.isWhitespace } }
        guard self == .amounts else { return try VerificationValues(plain) }
        return try VerificationValues(plain.map(Self.smallest))
    }

    /// `0.32` and `0,32` are 32; what is no amount stays as it is, and is judged by the upstream.
    private static func smallest(_ text: String) -> String {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let isDecimal = parts.count == 2 && parts.last?.count == 2
        let digits = isDecimal ? parts.joined() : text
        return Amount(decimal: digits).map { "\($0)" } ?? digits
    }
}

/// How often payers may ask the upstream something.
///
/// A class, because all requests share its counts.
final class PayerLimits: Sendable {
    /// Requests of payers that may be at the upstream at once; a cluster polls with hundreds.
    static let countMax = 32
    /// A person types no faster.
    static let pause = Duration.seconds(2)

    private let last: HintThrottle
    private let inside = Mutex<Set<ItemID>>([])

    init(elapsed: @escaping @Sendable () -> Duration) {
        last = HintThrottle(elapsed: elapsed)
    }

    /// Takes a place; false when there is none, or the payment had one a moment ago.
    func enter(_ id: ItemID) -> Bool {
        inside.withLock { inside in
            guard inside.count < Self.countMax, !inside.contains(id),
                last.isDue(id, after: Self.pause)
            else { return false }
            inside.insert(id)
            return true
        }
    }

    /// Gives the place back.
    func leave(_ id: ItemID) {
        inside.withLock { _ = $0.remove(id) }
    }
}
