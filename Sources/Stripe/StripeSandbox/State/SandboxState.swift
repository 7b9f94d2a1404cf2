import NIOCore
import SafeNumbers

/// The complete state of the sandbox: plain values, changed by functions that collect webhooks to send.
///
/// A single lock guards it (``SandboxStore``), so every request is atomic. No code here reads a clock or does I/O:
/// the store sets the time on entry, timers wait in a queue, and webhooks are returned as posts.
///
/// Each feature is an extension in the folder of its objects: `API` (authorisation and idempotency), `Sources`,
/// `Intents`, `Charges`, `Customers`, `Methods`, `Search`, `Webhooks`, `Faults`, `Pages` (the customer's clicks),
/// `Controls` (for tests). Every change of an object has the same four steps: change it, call `changed()` to discard
/// its JSON, call `recordStatus` for the history checker, and `emit` the event.
struct SandboxState: Sendable {
    /// The API version of events; see `StripeVersion`.
    static let apiVersion = "2026-10-28.endive"

    /// The maximum number of Sources, about 2 kB each; further ones are rejected.
    static let sourcesMax = 4_000_000

    /// The number of requests stored for `GET /_sandbox/requests`.
    static let requestsMax = 100_000

    /// The number of status changes stored for `GET /_sandbox/history`: enough for 250,000 Sources, about 100 bytes
    /// each.
    static let historyMax = 1_000_000

    /// The number of webhook attempts stored for `GET /_sandbox/webhooks/attempts`.
    static let attemptsMax = 100_000

    var ids: IDGenerator
    var time: SandboxTime
    var timers = TimerQueue()
    /// Sandbox time in milliseconds since 1970, set on entry of every call and used to date objects.
    var nowMs: Int64 = 0
    /// The machine time, for the logs and the limiters.
    var machineMs: Int64 = 0
    /// The delay of automatic changes, in sandbox time.
    private(set) var autoDelayMs: Int64 = 1000
    private(set) var webhookPlan = WebhookSchedule(tries: 3, firstPauseMs: 1000)
    /// Counts changes that may affect the saved state.
    var changes = 0

    var sources: [String: SandboxSource] = [:]
    /// The payments to receivers, by Source.
    var transactions: [String: [SandboxTransaction]] = [:]
    /// The mandate notifications by ID.
    var notifications: [String: MandateNotification] = [:]
    var customers = ObjectTable<SandboxCustomer>()
    var charges = ObjectTable<SandboxCharge>()
    var refunds = ObjectTable<SandboxRefund>()
    var disputes = ObjectTable<SandboxDispute>()
    /// All balance transactions, oldest first.
    var ledger = ObjectTable<SandboxBalanceTransaction>()
    var intents = ObjectTable<SandboxIntent>()
    var setups = ObjectTable<SandboxSetup>()
    /// All PaymentMethods.
    var methods = ObjectTable<SandboxMethod>()

    var events = EventLog()
    var webhooks: [SandboxWebhook] = []
    var deliveries: [Int: WebhookDelivery] = [:]
    var nextDelivery = 1
    var webhookFaults: [WebhookFault] = []
    /// Deliveries of deleted faults by endpoint, in the order in which they are sent; the first one is on its way.
    var releasedDeliveries: [String: [Int]] = [:]
    var attempts = RingBuffer<WebhookAttempt>(capacity: SandboxState.attemptsMax)

    var history = RingBuffer<StatusChange>(capacity: SandboxState.historyMax)
    var requests = RingBuffer<RecordedRequest>(capacity: SandboxState.requestsMax)
    var faults: [Fault] = []
    var idempotency = IdempotencyTable()
    var grants: [String: KeyGrant] = [:]
    var limiter = Limiter()
    var locks = ObjectLocks()
    /// The first state of the next refund; `nil` for the default of its method.
    var nextRefund: RefundStart?

    /// The webhooks to send now; the store takes them after every call.
    var posts: [WebhookPost] = []

    /// The request that causes the current changes, for the `request` of events, and its API version.
    var cause: (requestID: String?, idempotencyKey: String?, version: String?) = (nil, nil, nil)

    /// Sandbox time in seconds since 1970.
    var nowSeconds: Int { Int(clamping: nowMs / 1000) }

    init(configuration: SandboxConfiguration, seed: UInt64, machineMs: Int64) {
        ids = IDGenerator(seed: seed)
        time = SandboxTime(startMs: machineMs, scale: configuration.timeScale)
        start(configuration, machineMs: machineMs)
    }

    /// Starts, or continues with a saved state; settings of this start replace the saved ones.
    mutating func start(_ configuration: SandboxConfiguration, machineMs: Int64) {
        time = time.at(scale: configuration.timeScale, from: machineMs)
        autoDelayMs = configuration.autoDelay.milliseconds
        webhookPlan = WebhookSchedule(
            tries: configuration.webhookTries,
            firstPauseMs: configuration.webhookRetryDelay.milliseconds
        )
        limiter.limits = configuration.limits
        advance(toMachineMs: machineMs)
        // Deliveries that were in flight at the end or held by a fault.
        for number in Set(deliveries.keys).subtracting(timers.attempts).sorted() {
            schedule(after: 0, .attempt(number))
        }
    }

    /// Records a status for the independent checker.
    mutating func recordStatus(_ object: String, from previous: String?, to status: String) {
        history.append(
            StatusChange(source: object, previous: previous, status: status, atMs: machineMs)
        )
    }
}

/// The saved part of the state: objects, but not test settings (faults, limits, locks, keys) or logs.
extension SandboxState: Codable {
    private enum CodingKeys: CodingKey {
        case ids, time, timers
        case sources, transactions, notifications, customers, charges, refunds, disputes, ledger
        case intents, setups, methods
        case events, webhooks, deliveries, nextDelivery, idempotency
    }
}

/// The notification of a coming debit, and its Source.
struct MandateNotification: Codable {
    let source: String
    let json: ByteBuffer
}

/// A recorded API request.
struct RecordedRequest {
    let method: String
    let path: String
    let atMs: Int64
    let keySuffix: String
    let requestID: String
    /// The response status; `nil` while the request is held, 0 when the connection was reset.
    var status: Int?
}

/// A status change of an object, for a checker that compares a poller's observations with the history.
struct StatusChange {
    let source: String
    /// The previous status; `nil` when the object was created.
    let previous: String?
    let status: String
    let atMs: Int64
}

/// Sandbox time: machine time, scaled by a factor and advanced by skipped time.
struct SandboxTime: Codable {
    private let startMs: Int64
    private let scale: Double
    /// The time skipped so far by `POST /_sandbox/clock/advance`.
    private(set) var skippedMs: Int64 = 0

    /// Starts at the machine time.
    ///
    /// - Parameters:
    ///   - startMs: The machine time in milliseconds since 1970.
    ///   - scale: The number of sandbox seconds per machine second.
    init(startMs: Int64, scale: Double) {
        self.startMs = startMs
        self.scale = scale
    }

    func nowMs(machineMs: Int64) -> Int64 {
        if scale == 1 { return machineMs.addingSaturating(skippedMs) }
        return startMs.addingSaturating(sandboxMs(for: machineMs - startMs)).addingSaturating(
            skippedMs
        )
    }

    /// Returns the machine time for a span of sandbox time, rounded up to a millisecond.
    func machineMs(for spanMs: Int64) -> Int64 {
        max(1, Int64(saturating: (Double(spanMs) / scale).rounded(.up)))
    }

    /// Returns the sandbox time for a span of machine time.
    func sandboxMs(for machineMs: Int64) -> Int64 { Int64(saturating: Double(machineMs) * scale) }

    /// Returns the same time, continuing with another scale from a machine time.
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
    /// The duration in whole milliseconds.
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
