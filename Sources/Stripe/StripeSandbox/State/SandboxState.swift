import NIOCore
import SafeNumbers

/// Everything the sandbox knows: plain values, changed by functions that leave webhooks to post behind.
///
/// One lock guards it (``SandboxStore``), so every request is atomic. Nothing here reads a clock or does I/O:
/// the store sets the time on entry, timers wait in a queue, and webhooks leave as posts.
///
/// Each story is an extension beside its objects: `API` (who may call, what is answered twice), `Sources`, `Intents`,
/// `Charges`, `Customers`, `Methods`, `Search`, `Webhooks`, `Faults`, `Pages` (the customer's clicks), `Controls` (those of tests).
/// What all of them do to an object is the same four steps: change it, `changed()` to forget its JSON, `note` the
/// status for the checker of histories, `emit` the event.
struct SandboxState: Sendable {
    /// The version events are rendered with; see `StripeVersion`.
    static let apiVersion = "2026-10-28.endive"

    /// Sources kept, about 2 kB each; further ones are refused.
    static let sourcesMax = 4_000_000

    /// Requests kept for `GET /_sandbox/requests`.
    static let requestsMax = 100_000

    /// Status changes kept for `GET /_sandbox/history`: a run over 250,000 sources, about 100 bytes each.
    static let historyMax = 1_000_000

    /// Webhook attempts kept for `GET /_sandbox/webhooks/attempts`.
    static let attemptsMax = 100_000

    var ids: IDGenerator
    var time: SandboxTime
    var timers = TimerQueue()
    /// Sandbox time in milliseconds since 1970, set on entry of every call; what objects are dated with.
    var nowMs: Int64 = 0
    /// The machine's time, for the logs and the limiters.
    var machineMs: Int64 = 0
    /// How long what settles by itself takes, in sandbox time.
    private(set) var autoDelayMs: Int64 = 1000
    private(set) var webhookPlan = WebhookSchedule(tries: 3, firstPauseMs: 1000)
    /// Grows with what may have changed something that is kept over a restart.
    var changes = 0

    var sources: [String: SandboxSource] = [:]
    /// Payments to receivers, by source.
    var transactions: [String: [SandboxTransaction]] = [:]
    /// Mandate notifications by id.
    var notifications: [String: MandateNotification] = [:]
    var customers = ObjectTable<SandboxCustomer>()
    var charges = ObjectTable<SandboxCharge>()
    var refunds = ObjectTable<SandboxRefund>()
    var disputes = ObjectTable<SandboxDispute>()
    /// Every movement of money, oldest first.
    var ledger = ObjectTable<SandboxBalanceTransaction>()
    var intents = ObjectTable<SandboxIntent>()
    var setups = ObjectTable<SandboxSetup>()
    /// PaymentMethods, however they were made.
    var methods = ObjectTable<SandboxMethod>()

    var events = EventLog()
    var webhooks: [SandboxWebhook] = []
    var deliveries: [Int: WebhookDelivery] = [:]
    var nextDelivery = 1
    var webhookFaults: [WebhookFault] = []
    var attempts = RingBuffer<WebhookAttempt>(capacity: SandboxState.attemptsMax)

    var history = RingBuffer<StatusChange>(capacity: SandboxState.historyMax)
    var requests = RingBuffer<RecordedRequest>(capacity: SandboxState.requestsMax)
    var faults: [Fault] = []
    var idempotency = IdempotencyTable()
    var grants: [String: KeyGrant] = [:]
    var limiter = Limiter()
    var locks = ObjectLocks()
    /// How the next refund begins; nil for as its method does.
    var nextRefund: RefundStart?

    /// Webhooks to post now; the store drains them after every call.
    var posts: [WebhookPost] = []

    /// The request that causes the changes at hand, for the `request` of its events, and the version it asks for.
    var cause: (requestID: String?, idempotencyKey: String?, version: String?) = (nil, nil, nil)

    /// Seconds since 1970, sandbox time.
    var nowSeconds: Int { Int(clamping: nowMs / 1000) }

    init(configuration: SandboxConfiguration, seed: UInt64, machineMs: Int64) {
        ids = IDGenerator(seed: seed)
        time = SandboxTime(startMs: machineMs, scale: configuration.timeScale)
        start(configuration, machineMs: machineMs)
    }

    /// Begins, or goes on with what was kept: of what a sandbox is started with, this start's word counts.
    mutating func start(_ configuration: SandboxConfiguration, machineMs: Int64) {
        time = time.at(scale: configuration.timeScale, from: machineMs)
        autoDelayMs = configuration.autoDelay.milliseconds
        webhookPlan = WebhookSchedule(
            tries: configuration.webhookTries,
            firstPauseMs: configuration.webhookRetryDelay.milliseconds
        )
        limiter.limits = configuration.limits
        advance(toMachineMs: machineMs)
        // Those that were on their way when it ended, or held by a fault.
        for number in Set(deliveries.keys).subtracting(timers.attempts).sorted() {
            schedule(after: 0, .attempt(number))
        }
    }

    /// Notes a status for the independent checker.
    mutating func recordStatus(_ object: String, from previous: String?, to status: String) {
        history.append(
            StatusChange(source: object, previous: previous, status: status, atMs: machineMs)
        )
    }
}

/// What a file keeps of it: the world, and not what tests have asked for (faults, limits, locks, keys) or
/// the logs of what was done to it.
extension SandboxState: Codable {
    private enum CodingKeys: CodingKey {
        case ids, time, timers
        case sources, transactions, notifications, customers, charges, refunds, disputes, ledger
        case intents, setups, methods
        case events, webhooks, deliveries, nextDelivery, idempotency
    }
}

/// What a holder of a mandate is told before a debit, and of which source.
struct MandateNotification: Codable {
    let source: String
    let json: ByteBuffer
}

/// One request to the API as it arrived.
struct RecordedRequest {
    let method: String
    let path: String
    let atMs: Int64
    let keySuffix: String
    let requestID: String
    /// What was answered; nil while it is held, 0 when the connection was cut instead.
    var status: Int?
}

/// One change of one object, for a checker that compares what a poller saw with what happened.
struct StatusChange {
    let source: String
    /// Nil when the object was created.
    let previous: String?
    let status: String
    let atMs: Int64
}

/// The sandbox's own time: the machine's, faster by a factor and ahead by what tests skipped.
struct SandboxTime: Codable {
    private let startMs: Int64
    private let scale: Double
    /// What `POST /_sandbox/clock/advance` skipped so far.
    private(set) var skippedMs: Int64 = 0

    /// Starts at the machine's time.
    ///
    /// - Parameters:
    ///   - startMs: The machine's time, milliseconds since 1970.
    ///   - scale: Sandbox seconds per second of the machine.
    init(startMs: Int64, scale: Double) {
        self.startMs = startMs
        self.scale = scale
    }

    /// Sandbox time at a time of the machine's.
    func nowMs(machineMs: Int64) -> Int64 {
        if scale == 1 { return machineMs.addingSaturating(skippedMs) }
        return startMs.addingSaturating(sandboxMs(for: machineMs - startMs)).addingSaturating(
            skippedMs
        )
    }

    /// How long the machine has to wait for a span of sandbox time, rounded up to a millisecond.
    func machineMs(for spanMs: Int64) -> Int64 {
        max(1, Int64(saturating: (Double(spanMs) / scale).rounded(.up)))
    }

    /// The span of sandbox time that passes in a span of the machine's.
    func sandboxMs(for machineMs: Int64) -> Int64 { Int64(saturating: Double(machineMs) * scale) }

    /// The same moment, going on at a scale from a time of the machine's.
    func at(scale: Double, from machineMs: Int64) -> SandboxTime {
        guard scale != self.scale else { return self }
        var time = SandboxTime(startMs: machineMs, scale: scale)
        time.skippedMs = nowMs(machineMs: machineMs) - machineMs
        return time
    }

    mutating func skip(_ spanMs: Int64) {
        skippedMs = skippedMs.addingSaturating(spanMs)
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
