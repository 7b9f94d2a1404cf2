import HTTPTypes
import NIOCore

extension SandboxState {
    /// Answers one call: idempotency first, then the route.
    mutating func answer(_ call: APICall) -> APIReply {
        cause = (call.requestID, call.idempotencyKey, call.account)
        defer { cause = (nil, nil, nil) }
        guard call.method == .post, let key = call.idempotencyKey else { return route(call) }

        let fingerprint = IdempotencyRecord.fingerprint(of: call)
        if let record = idempotency[key] {
            guard record.fingerprint == fingerprint else {
                return APIError(
                    status: 400,
                    type: "idempotency_error",
                    message: "Keys for idempotent requests can only be used with the same "
                        + "parameters they were first used with. Try using a key other than "
                        + "'\(key)' if you meant to execute a different request."
                ).reply
            }
            var reply = APIReply(status: record.status, body: record.body)
            reply.originalRequestID = record.requestID
            return reply
        }
        let reply = route(call)
        // Refused before anything ran: Stripe keeps results only once execution began.
        if reply.status == 200 || reply.status == 402 || reply.status >= 500 {
            if let oldest = idempotencyOrder[idempotencyOrder.next - Self.idempotencyMax] {
                idempotency.removeValue(forKey: oldest)
            }
            idempotencyOrder.append(key)
            idempotency[key] = IdempotencyRecord(
                fingerprint: fingerprint,
                status: reply.status,
                body: reply.body,
                requestID: call.requestID
            )
        }
        return reply
    }

    private mutating func route(_ call: APICall) -> APIReply {
        do throws(APIError) {
            switch call.segments.first {
            case "sources": return try routeSources(call)
            case "payment_intents": return try routeIntents(call)
            case "charges": return try routeCharges(call)
            case "events": return try routeEvents(call)
            case "webhook_endpoints": return try routeWebhooks(call)
            default: throw Self.unrecognized(call)
            }
        } catch {
            return error.reply
        }
    }

    static func unrecognized(_ call: APICall) -> APIError {
        .invalid(
            "Unrecognized request URL (\(call.method.rawValue): \(call.path)). "
                + "If you are trying to list objects, remove the trailing slash. If you are trying "
                + "to retrieve an object, make sure you passed a valid (non-empty) identifier.",
            status: 404
        )
    }

    /// Publishable keys may create and read what they hold the secret of, nothing else.
    static func requireSecretKey(_ call: APICall) throws(APIError) {
        guard !call.key.isPublishable else {
            throw APIError.invalid(
                "This API call cannot be made with a publishable API key. Please use a secret "
                    + "API key.",
                status: 403,
                code: "secret_key_required"
            )
        }
    }

    /// A publishable key needs the right `client_secret`; a secret key may send it, and then it must fit.
    static func requireClientSecret(
        _ expected: String,
        _ call: APICall,
        kind: String
    ) throws(APIError) {
        let given = call.form["client_secret"]
        if given == nil, !call.key.isPublishable { return }
        guard let given else { throw APIError.missing("client_secret") }
        guard given == expected else {
            throw APIError.invalid(
                "The client_secret provided does not match the client_secret associated with "
                    + "this \(kind).",
                param: "client_secret"
            )
        }
    }

    /// Renders one page of a list that is kept oldest first.
    ///
    /// - Parameters:
    ///   - call: Its `limit`, `ending_before` and `starting_after` choose the page.
    ///   - kind: What the elements are called in errors.
    ///   - numbers: The list's numbers, oldest first.
    ///   - number: The number of an id; nil when there is none.
    ///   - matches: Whether an element belongs to the list asked for.
    ///   - json: An element's JSON.
    /// - Returns: The page, newest first, as Stripe orders it.
    /// - Throws: A bad limit, or a cursor that names nothing.
    static func page(
        _ call: APICall,
        kind: String,
        numbers: Range<Int>,
        number: (String) -> Int?,
        matches: (Int) -> Bool = { _ in true },
        json: (Int) -> [UInt8]
    ) throws(APIError) -> APIReply {
        let limit = try call.form.positive("limit") ?? 10
        guard limit <= 100 else {
            throw APIError.invalid(
                "This value must be less than or equal to 100.",
                code: "parameter_invalid_integer",
                param: "limit"
            )
        }
        let newerThan = try cursor(call, "ending_before", kind, number)
        let olderThan = try cursor(call, "starting_after", kind, number)
        if newerThan != nil, olderThan != nil {
            throw APIError.invalid(
                "You may only specify one of these: ending_before, starting_after."
            )
        }
        var picked: [Int] = []
        if let newerThan {
            // The oldest of the newer ones: walking on with ending_before sees every element once.
            for number in max(
                newerThan + 1,
                numbers.lowerBound
            )..<max(numbers.upperBound, newerThan + 1)
            where picked.count <= limit && matches(number) { picked.append(number) }
        } else {
            for number
                in (numbers.lowerBound..<max(olderThan ?? numbers.upperBound, numbers.lowerBound))
                .reversed()
            where picked.count <= limit && matches(number) { picked.append(number) }
        }
        let hasMore = picked.count > limit
        if hasMore { picked.removeLast() }
        if newerThan != nil { picked.reverse() }
        let body = JSONWriter.object { writer in
            writer.field("object", "list")
            writer.key("data")
            writer.array { writer in
                for number in picked { writer.raw(json(number)) }
            }
            writer.field("has_more", hasMore)
            writer.field("url", call.path)
        }
        return APIReply(body: body)
    }

    private static func cursor(
        _ call: APICall,
        _ name: String,
        _ kind: String,
        _ number: (String) -> Int?
    ) throws(APIError) -> Int? {
        guard let id = call.form[name] else { return nil }
        guard let found = number(id) else {
            throw APIError.noSuch(kind, id, param: name, inPath: false)
        }
        return found
    }
}
