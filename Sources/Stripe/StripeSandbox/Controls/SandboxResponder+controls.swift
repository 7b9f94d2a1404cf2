import HTTPTypes
import Hummingbird
import JSONText
import NIOCore
import SafeNumbers
import StripeAPI

extension SandboxResponder {
    /// Handles the controls under `/_sandbox`, which take and return JSON and need no key.
    ///
    /// - `POST sources/{id}/status`, `payment_intents/{id}/status`, `setup_intents/{id}/status`,
    ///   `charges/{id}/status`: `{"status": …}`
    /// - `POST charges/{id}/disputes`: see ``DisputeRequest``; `disputes/{id}/status`: `{"status": …}`
    /// - `POST refunds/{id}/status`, `refunds/next/status`: see ``RefundStatusRequest``
    /// - `POST payment_intents/{id}/presentment`: `{"amount": 1634, "currency": "jpy"}`, the amount shown to the
    ///   customer
    /// - `POST charges/{id}/expire`: expires an authorisation
    /// - `POST sources/{id}/payments`, `payment_intents/{id}/payments`: `{"amount": 500}`, a payment to a receiver;
    ///   `customers/{id}/payments` for the customer's oldest waiting intent
    /// - `POST sources/{id}/refund_attributes`: the customer provides an account for refunds
    /// - `POST bulk`: `{"count": 1000, "type": "ideal"}` returns `{"ids": […]}`
    /// - `GET clock`, `POST clock/advance`: `{"seconds": 21600}` skips six hours
    /// - `POST faults`, `DELETE faults[/{id}]`: see ``FaultRequest``
    /// - `POST keys`, `DELETE keys/{key}`: see ``KeyRequest``
    /// - `POST limits`, `DELETE limits`: see ``SandboxLimits``
    /// - `POST locks`, `DELETE locks/{id}`: see ``LockRequest``
    /// - `POST webhooks/faults`, `DELETE webhooks/faults[/{id}]`: see ``WebhookFault``
    /// - `POST webhooks/destinations`: `{"url": …}` returns `{"id", "secret"}`; the destination receives thin events
    /// - `POST webhooks/resend`, `POST webhooks/roll`: see ``ResendRequest`` and ``RollRequest``
    /// - `GET requests?path=`, `GET history?source=`, `GET events?type=charge.*`, `GET webhooks/attempts?event=`,
    ///   each with `since=` and `limit=`
    func respondControl(_ request: Request, _ path: String) async throws -> Response {
        let segments = path.split(separator: "/").dropFirst().map(String.init)
        do {
            let answer =
                switch segments.first {
                case "sources", "payment_intents", "setup_intents", "charges", "disputes",
                    "refunds",
                    "customers":
                    try await controlObject(request, segments)
                case "webhooks": try await controlWebhooks(request, segments)
                default: try await controlServer(request, segments)
                }
            if let answer { return answer }
            throw APIError.invalid(
                "No such control: \(request.method.rawValue) \(path)",
                status: 404
            )
        } catch let error as APIError {
            return Self.json(status: error.status, error.reply.body)
        }
    }

    func decode<Value: Decodable>(
        _ type: Value.Type,
        _ request: Request
    ) async throws -> Value {
        let body = try await collect(request)
        do {
            // An empty body is an object without members.
            return body.readableBytes == 0
                ? try StripeJSON.decode(type, from: "{}".utf8)
                : try StripeJSON.decode(type, from: body.readableBytesView)
        } catch {
            throw APIError.invalid("Invalid body: \(error)")
        }
    }

    /// Handles the controls of the server: clock, faults, keys, limits, locks, bulk creation and logs.
    private func controlServer(_ request: Request, _ segments: [String]) async throws -> Response? {
        let id = segments.dropFirst().first
        switch (request.method, segments.first, segments.count) {
        case (.get, "clock", 1): return clock()
        case (.post, "clock", 2) where id == "advance":
            return try advance(try await decode(AdvanceRequest.self, request))
        case (.post, "faults", 1):
            return try addFault(try await decode(FaultRequest.self, request))
        case (.delete, "faults", 1), (.delete, "faults", 2):
            return Self.deleted(store.step { $0.removeFaults(id) })
        case (.post, "keys", 1):
            return try addKey(try await decode(KeyRequest.self, request))
        case (.delete, "keys", 2):
            return Self.deleted(
                store.step { $0.grants.removeValue(forKey: id ?? "") == nil ? 0 : 1 }
            )
        case (.post, "limits", 1):
            let limits = try await decode(SandboxLimits.self, request)
            guard limits.isValid else {
                throw APIError.invalid("Rates must be 0.001 to 1000000, counts 0 to 1000000.")
            }
            store.step { $0.limiter.limits = limits }
            return Self.json([UInt8]("{}".utf8))
        case (.delete, "limits", 1):
            store.step { $0.limiter.limits = .none }
            return Self.deleted(1)
        case (.post, "locks", 1):
            return try addLock(try await decode(LockRequest.self, request))
        case (.delete, "locks", 2):
            return Self.deleted(store.step { $0.locks.unlock(id ?? "") ? 1 : 0 })
        case (.post, "bulk", 1):
            return try makeBulk(try await decode(BulkRequest.self, request), request)
        case (.get, "requests", 1):
            return try listRequests(try Form(parsing: (request.uri.query ?? "").utf8))
        case (.get, "events", 1):
            return try listAnnounced(try Form(parsing: (request.uri.query ?? "").utf8))
        case (.get, "history", 1):
            return try listHistory(try Form(parsing: (request.uri.query ?? "").utf8))
        default: return nil
        }
    }

    static func deleted(_ count: Int) -> Response {
        json(JSONWriter.object { $0.field("deleted", count) })
    }

    private func clock() -> Response {
        Self.json(
            store.read { state in
                JSONWriter.object { writer in
                    writer.field("now_ms", Int(clamping: state.nowMs))
                    writer.field("skipped_ms", Int(clamping: state.time.skippedMs))
                }
            }
        )
    }

    private func advance(_ input: AdvanceRequest) throws(APIError) -> Response {
        // Ten years, longer than any timer of the sandbox.
        guard (0...315_360_000).contains(input.seconds) else {
            throw APIError.invalid("seconds must be 0 to 315360000", param: "seconds")
        }
        store.step { $0.skip(Int64(saturating: input.seconds * 1000)) }
        return clock()
    }

    /// Adds a fault; the oldest fault that matches a request applies.
    private func addFault(_ plan: FaultRequest) throws(APIError) -> Response {
        guard (200...599).contains(plan.status ?? 200), (plan.times ?? 1) > 0,
            (0...300_000).contains(plan.delayMs ?? 0), (0...(1 << 40)).contains(plan.bytes ?? 0)
        else {
            throw APIError.invalid(
                "Invalid fault: status 200 to 599, times from 1, delay_ms up to 300000, bytes up to 2^40."
            )
        }
        let id: String? = store.step { state in
            state.faults.count < SandboxState.faultsMax ? state.addFault(plan) : nil
        }
        guard let id else {
            throw APIError.invalid("There are \(SandboxState.faultsMax) faults; delete some first.")
        }
        return Self.json(status: 201, JSONWriter.object { $0.field("id", id) })
    }

    private func addKey(_ input: KeyRequest) throws(APIError) -> Response {
        guard APIKey.kind(of: input.key) != nil else {
            throw APIError.invalid(
                "A key starts with sk_test_, rk_test_ or pk_test_.",
                param: "key"
            )
        }
        let isKept = store.step { state in
            guard state.grants.count < SandboxState.grantsMax else { return false }
            state.grants[input.key] = KeyGrant(
                account: input.account,
                permissions: input.permissions,
                isExpired: input.expired == true
            )
            return true
        }
        guard isKept else { throw APIError.invalid("Too many keys; delete some first.") }
        return Self.json(status: 201, JSONWriter.object { $0.field("key", input.key) })
    }

    private func addLock(_ input: LockRequest) throws(APIError) -> Response {
        guard (1...86_400_000).contains(input.ms ?? 1) else {
            throw APIError.invalid("ms must be 1 to 86400000", param: "ms")
        }
        let isLocked = store.step { state in
            guard !state.locks.isFull else { return false }
            state.locks.lock(
                input.id,
                untilMs: input.ms.map { state.machineMs + $0 },
                blocksReads: input.reads == true
            )
            return true
        }
        guard isLocked else {
            throw APIError.invalid("Too many locks; delete some first.")
        }
        return Self.json(status: 201, JSONWriter.object { $0.field("id", input.id) })
    }
}
