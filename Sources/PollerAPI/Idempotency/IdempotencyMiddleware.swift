import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PollerIdentity
import PollerOperations
import PollerQueue
import SafeNumbers

/// Returns the stored response to the repeat of an idempotent request, instead of executing it again.
///
/// The middleware follows the key check: a repeat needs the same access as the first request. It handles the routes
/// whose ``RouteIdempotency`` are kept, and no others:
///
/// 1. The name is claimed (``IdempotencyStore``). If another request holds it: 409 `idempotency_key_in_use`, with the
///    time to retry. If it belongs to a different request: 409 `idempotency_key_reused`. If a response is stored: the
///    same status and body, with `Idempotent-Replayed: true`. Nothing is executed or audited.
/// 2. The request is executed.
/// 3. A successful response is stored before it is sent, so that a repeat always gets what the client has read. A
///    rejected request is forgotten, because nothing was done. After a failure (5xx), a repeat is possible at once,
///    with the same seed.
///
/// *A crash* between 1 and 3 leaves a claim that expires automatically. The repeat then executes the request again, so
/// a kept route must tolerate that. Either the object it creates is identified by the seed or the request (`createKey`,
/// `createEndpoint`, `rotateEndpoint`), or it finds the work already done (all others).
///
/// *Bounds.* A response beyond ``bytesMax`` is not stored, and its repeat is executed. Only a batch has such a
/// response, and its sources are joined. A response is not stored if no client could request it again, such as the
/// first key of a server without keys. A client may use as many names as requests per second (``RequestLimits``), each
/// for a day.
struct IdempotencyMiddleware: RouterMiddleware {
    /// More than a watch with its object of 64 KiB, or an endpoint with all settings.
    static let bytesMax = 131_072

    let requests: any IdempotencyStore
    let seals: RequestSeals
    let reader: BodyReader
    let table: RouteTable

    func handle(
        _ request: Request,
        context: APIContext,
        next: @concurrent (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard let route = table.matched(context.endpointPath, request.method),
            case .kept(let isTakenWhenFull) = route.idempotency,
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
            by: context.caller,
            presenting: context.presentedKey
        )
        let owner = Self.owner()
        var (request, context) = (request, context)
        switch try await requests.claim(named, owner: owner) {
        case .granted(let seed): context.seed = seed
        case .inUse(let span): throw Self.inUse(for: span)
        case .reused: throw Self.reused
        case .kept(let answer): return try Self.replayed(answer, seal)
        }
        request.body = RequestBody(buffer: ByteBuffer(bytes: body))
        let response: Response
        do {
            response = try await next(request, context)
        } catch {
            await release(named, owner, forgets: Self.isRejection(error), context)
            throw error
        }
        return try await kept(response, named, owner, seal, context)
    }

    /// Stores a response and returns it.
    private func kept(
        _ response: Response,
        _ named: IdempotentRequest,
        _ owner: String,
        _ seal: RequestSeal,
        _ context: APIContext
    ) async throws -> Response {
        let body = try await response.collectedBody()
        var response = response
        response.body = ResponseBody(byteBuffer: body)
        guard response.status.kind == .successful, body.readableBytes <= Self.bytesMax,
            Self.isKeyStillValid(context)
        else {
            await release(named, owner, forgets: true, context)
            return response
        }
        let type = response.headers[.contentType] ?? "application/json"
        let answer = seal.seal(response.status.code, type, Array(body.readableBytesView))
        guard try await requests.keep(answer, of: named.name, owner: owner) else {
            // The request took so long that a repeat was admitted. The response to the repeat counts.
            throw Self.inUse(for: .seconds(1))
        }
        return response
    }

    /// Releases a claim if possible.
    ///
    /// Otherwise its lease expires.
    private func release(
        _ named: IdempotentRequest,
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

    /// Returns whether an error is a rejection, caused neither by the server nor by the store.
    private static func isRejection(_ error: any Error) -> Bool {
        switch error {
        case let problem as Problem: problem.code.status.kind == .clientError
        case is InvalidInput, is NIOTooManyBytesError: true
        default: false
        }
    }

    private static func isKeyStillValid(_ context: APIContext) -> Bool {
        do throws(Problem) {
            try context.recheck()
            return true
        } catch {
            return false
        }
    }

    private static func replayed(_ answer: [UInt8], _ seal: RequestSeal) throws -> Response {
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
        var generator = SystemRandomNumberGenerator()
        return Base64URL.encode(
            (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        )
    }

    private static func inUse(for span: Duration) -> Problem {
        Problem(
            .idempotencyKeyInUse,
            "A request with this Idempotency-Key is still in progress; send it again "
                + "after a moment to receive its response.",
            field: "Idempotency-Key",
            retryAfterSeconds: max(1, Int(clamping: span.ms.addingSaturating(999) / 1000))
        )
    }

    private static let reused = Problem(
        .idempotencyKeyReused,
        "This Idempotency-Key was sent with another request, or by a key with access to "
            + "other accounts; use a new one for a new request.",
        field: "Idempotency-Key"
    )
}
