import StripeAPI

/// An active fault.
struct Fault {
    let id: String
    let plan: FaultRequest
    /// The number of requests it still applies to; `nil` until deleted.
    var timesLeft: Int?

    /// Releases the held requests; finished when the fault is deleted.
    var held: [AsyncStream<Void>.Continuation] = []
    /// The first request of each path, in machine time; for `not_yet`.
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

    /// Returns whether the object of a path must still appear missing.
    mutating func hides(_ path: String, nowMs: Int64) -> Bool {
        if firstMs[path] == nil, firstMs.count < SandboxState.faultsMax { firstMs[path] = nowMs }
        return nowMs - (firstMs[path] ?? nowMs) < Int64(clamping: plan.delayMs ?? 2000)
    }
}

/// The kind of a fault.
enum FaultMode: String, Decodable {
    /// Responds with `status`, `headers` and `body`.
    case status
    /// Resets the connection without a response.
    case reset
    /// Holds the response until the fault is deleted, at most 300 s, and then responds normally.
    case hang
    /// Sends the head immediately and the body one byte every `delay_ms`.
    case slowBody = "slow_body"
    /// Sends the first half of the body as if it were complete.
    case halfJSON = "half_json"
    /// Announces the full body, sends half of it and closes the connection.
    case truncated
    /// Responds with 200 and an HTML page.
    case html
    /// Sends `bytes` of JSON text without a length; 1 GiB by default.
    case hugeBody = "huge_body"
    /// Responds with an object whose `status` is a number.
    case wrongType = "wrong_type"
    /// Responds normally with content type `text/plain`.
    case wrongContentType = "wrong_content_type"
    /// Responds normally with compression that was not requested.
    case gzip
    /// Responds to reads of an object with 404 until `delay_ms` (2 s by default) after the first one; then normally.
    case notYet = "not_yet"
    /// Responds with 429 from the limiter named by `reason`, `endpoint-rate` by default.
    case rateLimit = "rate_limit"
    /// Responds normally after `delay_ms`.
    case delay
}

/// A fault that applies to one request.
struct AppliedFault: Sendable {
    let plan: FaultRequest
    /// Finishes when the fault is deleted; only `hang` waits for it.
    let release: AsyncStream<Void>
}

/// The body of `POST /_sandbox/faults`.
struct FaultRequest: Decodable {
    /// The prefix of the paths it applies to.
    let match: String
    let mode: FaultMode
    /// Restricts the fault to this method.
    let method: String?
    let status: Int?
    let headers: [String: String]?
    /// A string is sent unchanged, any other value as JSON.
    let body: JSONValue?
    let delayMs: Int?
    let bytes: Int?
    /// For `rate_limit`: the value of `Stripe-Rate-Limited-Reason`.
    let reason: String?
    /// The number of requests it applies to; without it, until deleted.
    let times: Int?
    /// Whether the request takes effect before the fault applies: a lost response instead of a lost request.
    let after: Bool?
    /// Whether a `status` response is stored for the idempotency key, like a 500 of Stripe after execution started.
    let isStored: Bool?

    private enum CodingKeys: String, CodingKey {
        case match, mode, method, status, headers, body, bytes, reason, times, after
        case delayMs = "delay_ms"
        case isStored = "store"
    }
}

extension SandboxState {
    /// The maximum number of active faults; every request searches all of them.
    static let faultsMax = 1000

    /// Returns the fault that applies to a request, and counts it as used.
    ///
    /// A fault with a limited number of uses takes precedence over one that applies until it is deleted.
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
            // A used-up fault without held requests can be removed.
            if faults[index].timesLeft == 0 { faults.remove(at: index) }
        }
        return AppliedFault(plan: plan, release: release)
    }

    mutating func addFault(_ plan: FaultRequest) -> String {
        let id = ids.make("fault_", length: 8)
        faults.append(Fault(id: id, plan: plan))
        return id
    }

    /// Deletes one fault or all, and releases the held requests.
    ///
    /// - Returns: The number of deleted faults.
    mutating func removeFaults(_ id: String?) -> Int {
        let removed = faults.filter { id == nil || $0.id == id }
        faults.removeAll { id == nil || $0.id == id }
        for continuation in removed.flatMap(\.held) { continuation.finish() }
        return removed.count
    }
}
