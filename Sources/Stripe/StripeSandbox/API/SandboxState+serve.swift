import HTTPTypes
import NIOCore

extension SandboxState {
    /// The result of a request.
    enum ServeResult: Sendable {
        case answered(APIReply)
        /// A fault applies to the request, which is held until ``SandboxState/leave(_:)``.
        case faulted(HeldRequest)
    }

    /// A request to which a fault applies.
    struct HeldRequest: Sendable {
        let fault: AppliedFault
        /// The index of the request in the log.
        let number: Int
        let requestID: String
        let call: Result<APICall, APIError>
    }

    /// Records a request and answers it, unless a fault applies.
    ///
    /// The order is visible to clients: the request is logged; rejected for its key, a limit, a lock or an
    /// idempotency key in use (``admit(_:)``, nothing is stored); handed to a fault; answered from a known
    /// idempotency key; routed, and the response stored if execution started.
    mutating func serve(_ request: APIRequest) -> ServeResult {
        let requestID = ids.make("req_", length: 14)
        let number = requests.append(
            RecordedRequest(
                method: request.method.rawValue,
                path: request.path,
                atMs: machineMs,
                keySuffix: request.keySuffix,
                requestID: requestID,
                status: nil
            )
        )
        var call = request.call
        if case .success(var admitted) = call {
            do throws(APIError) {
                try admit(&admitted)
                call = .success(admitted)
            } catch {
                return finish(error.reply, number, requestID)
            }
        }
        if !faults.isEmpty,
            let fault = takeFault(path: request.path, method: request.method.rawValue)
        {
            if case .success(let call) = call { enter(call) }
            return .faulted(
                HeldRequest(fault: fault, number: number, requestID: requestID, call: call)
            )
        }
        return finish(answer(call, requestID: requestID), number, requestID)
    }

    private mutating func finish(
        _ reply: APIReply,
        _ number: Int,
        _ requestID: String
    ) -> ServeResult {
        var reply = reply
        reply.requestID = requestID
        recordResponse(number, status: reply.status)
        return .answered(reply)
    }

    /// Answers a call, or returns the error of an invalid request.
    mutating func answer(_ call: Result<APICall, APIError>, requestID: String) -> APIReply {
        var reply =
            switch call {
            case .success(let call): answer(call, requestID: requestID)
            case .failure(let error): error.reply
            }
        reply.requestID = requestID
        return reply
    }

    /// Counts a held request, and locks its idempotency key and its object.
    private mutating func enter(_ call: APICall) {
        limiter.enter(call)
        guard call.method == .post else { return }
        if let name = IdempotencyTable.name(of: call) { idempotency.begin(name) }
        if call.segments.count > 1 { locks.lock(call.segment(1), untilMs: nil) }
    }

    /// Releases the locks of a held request.
    mutating func leave(_ call: APICall) {
        limiter.leave(call)
        guard call.method == .post else { return }
        if let name = IdempotencyTable.name(of: call) { idempotency.end(name) }
        if call.segments.count > 1 { _ = locks.unlock(call.segment(1)) }
    }

    /// Records the response status of a request.
    mutating func recordResponse(_ number: Int, status: Int) {
        requests[number]?.status = status
    }
}

extension SandboxState {
    /// Rejects requests that never reach their operation: a bad key, a limit, a lock or a key in use.
    ///
    /// These responses are not stored for an idempotency key.
    mutating func admit(_ call: inout APICall) throws(APIError) {
        call.account = try authorise(call)
        if let reason = limiter.refusal(call, machineMs: machineMs) {
            throw APIError(
                status: 429,
                type: "invalid_request_error",
                message: "Request rate limit exceeded. Learn more about rate limits here "
                    + "https://stripe.com/docs/rate-limits.",
                code: "rate_limit",
                limitReason: reason
            )
        }
        if !locks.isEmpty,
            locks.blocks(call.segment(1), isRead: call.method == .get, machineMs: machineMs)
        {
            throw APIError(
                status: 429,
                type: "invalid_request_error",
                message: "This object cannot be accessed right now because another API request or "
                    + "Stripe process is currently accessing it.",
                code: "lock_timeout",
                shouldRetry: true
            )
        }
        if let name = IdempotencyTable.name(of: call), idempotency.isRunning(name) {
            throw APIError(
                status: 409,
                type: "idempotency_error",
                message: "There is currently another in-progress request using this Idempotent "
                    + "Key (that probably means you submitted twice, and the other request is "
                    + "still going through): \(call.idempotencyKey ?? ""). Please try again later.",
                code: "idempotency_key_in_use",
                shouldRetry: true
            )
        }
    }

    /// Answers an admitted call: from a stored response, or by its route.
    mutating func answer(_ call: APICall, requestID: String) -> APIReply {
        cause = (requestID, call.idempotencyKey, call.version)
        defer { cause = (nil, nil, nil) }
        guard let name = IdempotencyTable.name(of: call) else { return route(call) }
        if call.idempotencyKey?.utf8.count ?? 0 > 255 {
            return APIError.invalid("Idempotency keys are at most 255 characters.").reply
        }
        let fingerprint = IdempotencyRecord.fingerprint(of: call)
        if let record = idempotency.record(name, nowMs: nowMs) {
            guard record.fingerprint == fingerprint else {
                return APIError(
                    status: 400,
                    type: "idempotency_error",
                    message: "Keys for idempotent requests can only be used with the same "
                        + "parameters they were first used with. Try using a key other than "
                        + "'\(call.idempotencyKey ?? "")' if you meant to execute a different request."
                ).reply
            }
            var reply = APIReply(status: record.status, body: record.body)
            reply.originalRequestID = record.requestID
            return reply
        }
        let reply = route(call)
        if reply.hasBegun { keep(reply.status, reply.body, for: call, requestID: requestID) }
        return reply
    }

    /// Stores a response for the call's idempotency key and replaces any earlier one.
    mutating func keep(_ status: Int, _ body: ByteBuffer, for call: APICall, requestID: String) {
        guard let name = IdempotencyTable.name(of: call) else { return }
        idempotency.store(
            IdempotencyRecord(
                fingerprint: IdempotencyRecord.fingerprint(of: call),
                status: status,
                body: body,
                requestID: requestID,
                storedMs: nowMs
            ),
            as: name
        )
    }

    /// Routes by the first path segment; each resource handles the rest.
    private mutating func route(_ call: APICall) -> APIReply {
        do throws(APIError) {
            if call.path.hasPrefix("/v2/") { return try routeThinEvents(call) }
            switch call.segments.first {
            case "sources": return try routeSources(call)
            case "payment_intents": return try routeIntents(call)
            case "setup_intents": return try routeSetups(call)
            case "payment_methods": return try routeMethods(call)
            case "charges": return try routeCharges(call)
            case "refunds": return try routeRefunds(call)
            case "disputes": return try routeDisputes(call)
            case "balance_transactions": return try routeLedger(call)
            case "customers": return try routeCustomers(call)
            case "events": return try routeEvents(call)
            case "webhook_endpoints": return try routeWebhooks(call)
            default: throw Self.unrecognized(call)
            }
        } catch {
            return error.reply
        }
    }

    /// Creates Stripe's error for an unknown path.
    static func unrecognized(_ call: APICall) -> APIError {
        .invalid(
            "Unrecognized request URL (\(call.method.rawValue): \(call.path)). "
                + "If you are trying to list objects, remove the trailing slash. If you are trying "
                + "to retrieve an object, make sure you passed a valid (non-empty) identifier.",
            status: 404
        )
    }
}
