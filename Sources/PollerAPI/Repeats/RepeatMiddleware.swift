import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Poller
import PollerIdentity
import PollerQueue
import SafeNumbers

/// Answers the repeat of a request that its client has named, instead of carrying it out again.
///
/// It stands behind the check of keys: who repeats a request must be let in as who sends one. What follows
/// is the same for each route whose ``RouteRepeats`` are kept, and for those alone:
///
/// 1. The name is claimed (``NamedRequests``). Somebody else has it: 409 `idempotency_key_in_use`, with when to
///    ask again. It stands for something else: 409 `idempotency_key_reused`. It was answered: the same
///    status and body, with `Idempotent-Replayed: true`; nothing is done, and nothing audited.
/// 2. The request is carried out.
/// 3. What succeeded is kept, and only then told: what a client has read, its repeat cannot deny. What was
///    refused is forgotten, because nothing was done. What failed in between (5xx) is free for a repeat at
///    once, under the same seed.
///
/// *A crash* between 1 and 3 leaves a claim that ends by itself. The repeat then carries the request out
/// again, so a route that is kept must bear that: what it makes is known by the seed or by the request
/// (`createKey`, `createEndpoint`, `rotateEndpoint`), or it finds done what it wants (all others).
///
/// *Bounds.* An answer beyond ``bytesMax`` is not kept, and its repeat carried out: only that of a batch is
/// so large, and what was enqueued is joined. Nothing is kept of an answer that nobody could ask for again,
/// such as the first key of a server that had none. A client has as many names as requests a
/// second (``RequestLimits``), each for a day.
struct RepeatMiddleware: RouterMiddleware {
    /// More than a watch with its object of 64 KiB, or an endpoint with all it can have.
    static let bytesMax = 131_072

    let requests: any NamedRequests
    let seals: RequestSeals
    let reader: BodyReader
    let table: RouteTable

    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard let route = table.matched(context.endpointPath, request.method),
            case .kept(let isTakenWhenFull) = route.repeats,
            request.headers[.idempotencyKey] != nil
        else { return try await next(request, context) }
        try BodyReader.checkIdempotencyKey(request)
        let body = try await reader.read(
            request,
            bytesMax: route.body?.bytesMax ?? BodyReader.singleBytesMax
        )
        let (named, seal) = seals.named(
            request,
            body: body,
            for: route,
            isTakenWhenFull: isTakenWhenFull,
            by: context.caller
        )
        let owner = Self.owner()
        var (request, context) = (request, context)
        switch try await requests.claim(named, owner: owner) {
        case .granted(let seed): context.seed = seed
        case .inUse(let span): throw Self.inUse(for: span)
        case .reused: throw Self.reused
        case .kept(let answer): return try Self.told(answer, seal)
        }
        request.body = RequestBody(buffer: ByteBuffer(bytes: body))
        let response: Response
        do {
            response = try await next(request, context)
        } catch {
            await release(named, owner, forgets: Self.hasDoneNothing(error), context)
            throw error
        }
        return try await kept(response, named, owner, seal, context)
    }

    /// Keeps an answer, and tells it.
    private func kept(
        _ response: Response,
        _ named: NamedRequest,
        _ owner: String,
        _ seal: RequestSeal,
        _ context: APIContext
    ) async throws -> Response {
        let body = try await response.collectedBody()
        var response = response
        response.body = ResponseBody(byteBuffer: body)
        guard response.status.kind == .successful, body.readableBytes <= Self.bytesMax,
            Self.mayBeAskedAgain(context)
        else {
            await release(named, owner, forgets: true, context)
            return response
        }
        let type = response.headers[.contentType] ?? "application/json"
        let answer = seal.seal(response.status.code, type, Array(body.readableBytesView))
        guard try await requests.keep(answer, of: named.name, owner: owner) else {
            // It took so long that a repeat was let in: what that is told counts.
            throw Self.inUse(for: .seconds(1))
        }
        return response
    }

    /// Ends a claim, if it can be: otherwise its lease does.
    private func release(
        _ named: NamedRequest,
        _ owner: String,
        forgets: Bool,
        _ context: APIContext
    ) async {
        do {
            try await requests.release(named.name, owner: owner, forgets: forgets)
        } catch {
            context.logger.info("claim not released", metadata: ["error": "\(error)"])
        }
    }

    /// Whether an error says that the request was refused: all that is neither our fault nor the store's.
    private static func hasDoneNothing(_ error: any Error) -> Bool {
        switch error {
        case let problem as Problem: problem.code.status.kind == .clientError
        case is InvalidInput, is NIOTooManyBytesError: true
        default: false
        }
    }

    private static func mayBeAskedAgain(_ context: APIContext) -> Bool {
        do throws(Problem) {
            try context.recheck()
            return true
        } catch {
            return false
        }
    }

    private static func told(_ answer: [UInt8], _ seal: RequestSeal) throws -> Response {
        guard let (status, type, body) = seal.open(answer) else {
            throw StoreError.corrupt("an answer that was kept does not open")
        }
        return Response(
            status: HTTPResponse.Status(code: status),
            headers: [.contentType: type, .idempotentReplayed: "true"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        )
    }

    private static func owner() -> String {
        var chance = SystemRandomNumberGenerator()
        return Base64URL.encode(
            (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &chance) }
        )
    }

    private static func inUse(for span: Duration) -> Problem {
        Problem(
            .idempotencyKeyInUse,
            "A request with this Idempotency-Key is being carried out; send it again after a moment "
                + "for its answer.",
            field: "Idempotency-Key",
            retryAfterSeconds: max(1, Int(clamping: span.ms.addingSaturating(999) / 1000))
        )
    }

    private static let reused = Problem(
        .idempotencyKeyReused,
        "This Idempotency-Key was sent with another request, or by a key that saw other accounts; use a "
            + "new one for a new request.",
        field: "Idempotency-Key"
    )
}

/// What a client's `Idempotency-Key` does.
enum RouteRepeats: Hashable, Sendable {
    /// Nothing: the header is not looked at.
    case unknown
    /// It is checked and not kept: the same request again does no more than the first, and why.
    case byNature(String)
    /// A repeat with the same key is told what the first request was answered.
    ///
    /// `whenFull`: also while the store is full. What enqueues needs not: it is refused then anyway, and each
    /// try would need more memory.
    case kept(whenFull: Bool)

    /// A repeat is told what the first was answered, also while the store is full.
    static let kept = Self.kept(whenFull: true)

    /// The header as it is described.
    var parameters: [RouteParameter] {
        let description: String
        switch self {
        case .unknown: return []
        case .byNature(let reason):
            description = "Accepted and checked, not kept: \(reason)."
        case .kept:
            description = """
                Kept for a day: a repeat with the same key and content does nothing again and is answered \
                the same, with Idempotent-Replayed: true.
                """
        }
        return [
            RouteParameter(
                name: "Idempotency-Key",
                place: .header,
                description: description,
                schema: [
                    "type": "string", "minLength": 1, "maxLength": 255,
                    "pattern": "^[!-~]([ -~]*[!-~])?$",
                ]
            )
        ]
    }

    /// The statuses of its problems.
    var problems: [Int] {
        if case .kept = self { [409] } else { [] }
    }

    /// The headers of an answer that may be a repeat's.
    var headers: [String: SchemaNode] {
        guard case .kept = self else { return [:] }
        return [
            "Idempotent-Replayed": [
                "description":
                    "true when the request was carried out before, and this is what it was answered.",
                "schema": ["type": "string", "enum": ["true"]],
            ]
        ]
    }
}
