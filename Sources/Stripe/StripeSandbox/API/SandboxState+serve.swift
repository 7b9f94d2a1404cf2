import HTTPTypes
import NIOCore

extension SandboxState {
    /// What becomes of a request.
    enum Served: Sendable {
        case answered(APIReply)
        /// A fault struck: the request is held until ``SandboxState/leave(_:)``.
        case struck(Held)
    }

    /// A request a fault struck.
    struct Held: Sendable {
        let strike: FaultStrike
        /// The request's number in the log.
        let number: Int
        let requestID: String
        let call: Result<APICall, APIError>
    }

    /// Records a request and answers it, unless a fault strikes.
    mutating func serve(_ request: APIRequest) -> Served {
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
                return answered(error.reply, number, requestID)
            }
        }
        if !faults.isEmpty,
            let strike = strike(path: request.path, method: request.method.rawValue)
        {
            if case .success(let call) = call { enter(call) }
            return .struck(
                Held(strike: strike, number: number, requestID: requestID, call: call)
            )
        }
        return answered(answer(call, requestID: requestID), number, requestID)
    }

    private mutating func answered(
        _ reply: APIReply,
        _ number: Int,
        _ requestID: String
    ) -> Served {
        var reply = reply
        reply.requestID = requestID
        answered(number, status: reply.status)
        return .answered(reply)
    }

    /// Answers a call, or says why it is none.
    mutating func answer(_ call: Result<APICall, APIError>, requestID: String) -> APIReply {
        var reply =
            switch call {
            case .success(let call): answer(call, requestID: requestID)
            case .failure(let error): error.reply
            }
        reply.requestID = requestID
        return reply
    }

    /// Counts a held request, and keeps others from its key and its object.
    private mutating func enter(_ call: APICall) {
        limiter.enter(call)
        guard call.method == .post else { return }
        if let name = IdempotencyTable.name(of: call) { idempotency.begin(name) }
        if call.segments.count > 1 { locks.lock(call.segment(1), untilMs: nil) }
    }

    /// Lets go of what a held request kept.
    mutating func leave(_ call: APICall) {
        limiter.leave(call)
        guard call.method == .post else { return }
        if let name = IdempotencyTable.name(of: call) { idempotency.end(name) }
        if call.segments.count > 1 { _ = locks.unlock(call.segment(1)) }
    }

    /// Notes what a request was answered with.
    mutating func answered(_ number: Int, status: Int) {
        requests[number]?.status = status
    }
}
