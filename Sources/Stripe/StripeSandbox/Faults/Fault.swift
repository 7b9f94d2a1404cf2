import StripeAPI

/// A fault in force.
struct Fault {
    let id: String
    let plan: FaultRequest
    /// Requests it still applies to; nil until deleted.
    var timesLeft: Int?

    /// Wakes the requests it holds; ended when the fault is deleted.
    var held: [AsyncStream<Void>.Continuation] = []
    /// When each path was requested first, machine time; of `not_yet`.
    var firstMs: [String: Int64] = [:]

    init(id: String, plan: FaultRequest) {
        self.id = id
        self.plan = plan
        timesLeft = plan.times
    }

    func applies(to path: String, method: String) -> Bool {
        timesLeft != 0 && path.hasPrefix(plan.match)
            && (plan.method.map { $0.uppercased() == method } ?? true)
            && (plan.mode != .notYet || method == "GET")
    }

    /// Whether a path still is to be answered as if its object did not exist.
    mutating func hides(_ path: String, nowMs: Int64) -> Bool {
        if firstMs[path] == nil, firstMs.count < SandboxState.faultsMax { firstMs[path] = nowMs }
        return nowMs - (firstMs[path] ?? nowMs) < Int64(clamping: plan.delayMs ?? 2000)
    }
}

/// How a request misbehaves.
enum FaultMode: String, Decodable {
    /// Answers with `status`, `headers` and `body`.
    case status
    /// Resets the connection without a reply.
    case reset
    /// Holds the reply until the fault is deleted, 300 s at most, then answers normally.
    case hang
    /// Sends the head at once and the true body one byte every `delay_ms`.
    case slowBody = "slow_body"
    /// Sends the first half of the true body as if it were all.
    case halfJSON = "half_json"
    /// Announces the true body, sends half of it and closes the connection.
    case truncated
    /// Answers 200 with a page of HTML.
    case html
    /// Sends `bytes` of JSON text without announcing the length; 1 GiB unless given.
    case hugeBody = "huge_body"
    /// Answers with an object whose `status` is a number.
    case wrongType = "wrong_type"
    /// Answers normally, labelled `text/plain`.
    case wrongContentType = "wrong_content_type"
    /// Answers normally, compressed although nothing asked for it.
    case gzip
    /// Answers reads of an object with 404 until `delay_ms` after the first of them, 2 s unless given; then normally.
    case notYet = "not_yet"
    /// Answers 429 as the limiter that `reason` names, `endpoint-rate` unless given.
    case rateLimit = "rate_limit"
    /// Answers normally after `delay_ms`.
    case delay
}

/// A fault that struck one request.
struct AppliedFault: Sendable {
    let plan: FaultRequest
    /// Ends when the fault is deleted; waited for by `hang` alone.
    let release: AsyncStream<Void>
}

/// The body of `POST /_sandbox/faults`.
struct FaultRequest: Decodable {
    /// The beginning of the paths it applies to.
    let match: String
    let mode: FaultMode
    /// Only requests with this method.
    let method: String?
    let status: Int?
    let headers: [String: String]?
    /// A text is sent as it is, anything else as JSON.
    let body: JSONValue?
    let delayMs: Int?
    let bytes: Int?
    /// Of `rate_limit`: the value of `Stripe-Rate-Limited-Reason`.
    let reason: String?
    /// How many requests it applies to; until deleted when absent.
    let times: Int?
    /// Whether the request takes effect before the fault strikes: a lost answer instead of a lost request.
    let after: Bool?
    /// Whether a `status` answer is kept for the idempotency key, as Stripe keeps a 500 once execution began.
    let isStored: Bool?

    private enum CodingKeys: String, CodingKey {
        case match, mode, method, status, headers, body, bytes, reason, times, after
        case delayMs = "delay_ms"
        case isStored = "store"
    }
}

extension SandboxState {
    /// Faults in force at a time; each request looks through all of them.
    static let faultsMax = 1000

    /// The fault that strikes a request, if any; it counts as used.
    ///
    /// One that is for so many requests goes before one that stands until it is deleted.
    mutating func takeFault(path: String, method: String) -> AppliedFault? {
        let fitting = faults.indices.filter { faults[$0].applies(to: path, method: method) }
        guard let index = fitting.first(where: { faults[$0].timesLeft != nil }) ?? fitting.first
        else { return nil }
        if faults[index].plan.mode == .notYet, !faults[index].hides(path, nowMs: machineMs) {
            return nil
        }
        if let left = faults[index].timesLeft { faults[index].timesLeft = left - 1 }
        let (release, continuation) = AsyncStream.makeStream(of: Void.self)
        let plan = faults[index].plan
        if plan.mode == .hang {
            faults[index].held.append(continuation)
        } else {
            continuation.finish()
            // A spent fault holds no request and can go.
            if faults[index].timesLeft == 0 { faults.remove(at: index) }
        }
        return AppliedFault(plan: plan, release: release)
    }

    /// Puts a fault in force.
    mutating func addFault(_ plan: FaultRequest) -> String {
        let id = ids.make("fault_", length: 8)
        faults.append(Fault(id: id, plan: plan))
        return id
    }

    /// Deletes one fault, or all, and lets go of what they hold.
    ///
    /// - Returns: How many there were.
    mutating func removeFaults(_ id: String?) -> Int {
        let removed = faults.filter { id == nil || $0.id == id }
        faults.removeAll { id == nil || $0.id == id }
        for continuation in removed.flatMap(\.held) { continuation.finish() }
        return removed.count
    }
}
