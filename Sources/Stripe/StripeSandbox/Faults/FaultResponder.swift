import HTTPTypes
import Hummingbird
import JSONText
import NIOCore
import StripeAPI

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Answers one request according to its fault.
///
/// The request was admitted and counts as in flight until the response is complete. A held request therefore blocks
/// others at the account's limits and locks, as at Stripe. The fault's `after` decides whether the change takes
/// effect: a lost request or a lost response, which a client cannot distinguish.
struct FaultResponder {
    /// The maximum time a request is held, and of a slow body.
    static let holdMax = Duration.seconds(300)

    /// The default size of `huge_body`: far above any client's limit.
    static let hugeBytes = 1 << 30

    let store: SandboxStore
    let held: SandboxState.HeldRequest
    let request: APIRequest
    let context: SandboxContext

    private var plan: FaultRequest { held.fault.plan }

    func respond() async throws -> Response {
        if plan.after == true { _ = answer() }
        switch plan.mode {
        case .hang:
            await hold(held.fault.release)
            return normal()
        case .delay:
            try await Task.sleep(for: .milliseconds(plan.delayMs ?? 1000))
            return normal()
        case .reset:
            recordResponse(0)
            return try await reset()
        case .status:
            return configuredResponse()
        case .slowBody:
            return slow(pause: .milliseconds(plan.delayMs ?? 1000))
        case .halfJSON:
            return changed { $0.getSlice(at: $0.readerIndex, length: $0.readableBytes / 2) }
        case .truncated:
            return truncated()
        case .html:
            return page()
        case .hugeBody:
            return huge(plan.bytes ?? Self.hugeBytes)
        case .wrongType:
            return changed { _ in
                ByteBuffer(
                    string:
                        #"{"id":42,"object":"source","type":"ideal","status":7,"livemode":false}"#
                )
            }
        case .wrongContentType:
            var response = normal()
            response.headers[.contentType] = "text/plain"
            return response
        case .gzip:
            var response = changed { Gzip.member(of: $0) }
            response.headers[.contentEncoding] = "gzip"
            return response
        case .notYet:
            let id = request.path.split(separator: "/").last.map(String.init) ?? ""
            return refused(.noSuch("object", id))
        case .rateLimit:
            var error = Self.standardError(429)
            error.limitReason = plan.reason ?? "endpoint-rate"
            return refused(error)
        }
    }

    /// Executes the request and returns its normal response.
    private func answer() -> APIReply {
        store.step { $0.answer(held.call, requestID: held.requestID) }
    }

    /// Records the response status in the request log.
    private func recordResponse(_ status: Int) {
        store.step { $0.recordResponse(held.number, status: status) }
    }

    private func normal() -> Response {
        let reply = answer()
        recordResponse(reply.status)
        return SandboxResponder.response(reply, for: request)
    }

    /// Returns the normal response with another body.
    private func changed(_ change: (ByteBuffer) -> ByteBuffer?) -> Response {
        var reply = answer()
        recordResponse(reply.status)
        reply.body = change(reply.body) ?? reply.body
        return SandboxResponder.response(reply, for: request)
    }

    /// Returns an error instead of the normal response.
    private func refused(_ error: APIError) -> Response {
        recordResponse(error.status)
        var reply = error.reply
        reply.requestID = held.requestID
        return SandboxResponder.response(reply, for: request)
    }

    /// Waits until the fault is deleted or the maximum time has passed.
    private func hold(_ release: AsyncStream<Void>) async {
        await withTaskGroup { group in
            group.addTask {
                for await _ in release {}
            }
            group.addTask {
                // Cancelled as soon as the other task ends.
                try? await Task.sleep(for: Self.holdMax)
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Closes with RST instead of FIN, like a crashed server or a middlebox.
    private func reset() async throws -> Response {
        if let socket = context.channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await context.channel.close().get()
        return Response(status: .internalServerError)
    }

    /// Returns the fault's status, headers and body; the change only takes effect with `after`.
    private func configuredResponse() -> Response {
        let status = plan.status ?? 500
        recordResponse(status)
        var headers = HTTPFields()
        for (name, value) in plan.headers ?? [:] {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let body: ByteBuffer
        switch plan.body {
        case .string(let text): body = ByteBuffer(string: text)
        case let value?:
            // A value decoded from JSON can be encoded again.
            body = ByteBuffer(bytes: (try? JSONEncoder().encode(value)) ?? Data())
        case nil:
            body = Self.standardError(status).reply.body
        }
        if plan.isStored == true, case .success(let call) = held.call {
            store.step { $0.keep(status, body, for: call, requestID: held.requestID) }
        }
        var reply = APIReply(status: status, body: body)
        reply.requestID = held.requestID
        var response = SandboxResponder.response(reply, for: request)
        for field in headers { response.headers[field.name] = field.value }
        return response
    }

    private static func standardError(_ status: Int) -> APIError {
        switch status {
        case 429:
            .invalid("Request rate limit exceeded.", status: status, code: "rate_limit")
        case 400..<500:
            .invalid("The sandbox was configured to answer \(status).", status: status)
        default:
            APIError(
                status: status,
                type: "api_error",
                message: "The sandbox was configured to answer \(status)."
            )
        }
    }

    /// Sends bytes often enough for a timeout between bytes; only a deadline for the whole body ends it.
    private func slow(pause: Duration) -> Response {
        let reply = answer()
        recordResponse(reply.status)
        let clock = ContinuousClock()
        let end = clock.now + Self.holdMax
        return stream(reply, length: reply.body.readableBytes) { @concurrent writer in
            for byte in reply.body.readableBytesView where clock.now < end {
                try await writer.write(ByteBuffer(bytes: [byte]))
                try await clock.sleep(for: pause)
            }
        }
    }

    /// Announces the full length and sends half, which reveals a client that trusts the end of the connection.
    private func truncated() -> Response {
        let reply = answer()
        recordResponse(reply.status)
        let channel = context.channel
        return stream(reply, length: reply.body.readableBytes) { @concurrent writer in
            let half = reply.body.getSlice(
                at: reply.body.readerIndex,
                length: reply.body.readableBytes / 2
            )
            try await writer.write(half ?? ByteBuffer())
            try await channel.close().get()
        }
    }

    private func page() -> Response {
        let status = plan.status ?? 200
        recordResponse(status)
        return Response(
            status: HTTPResponse.Status(code: status),
            headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(
                byteBuffer: ByteBuffer(
                    string: "<!doctype html><title>Bad gateway</title><h1>Oops</h1>"
                )
            )
        )
    }

    /// Sends spaces, which are valid JSON so far: a client that parses before it checks the size runs out of memory.
    private func huge(_ bytes: Int) -> Response {
        recordResponse(200)
        return stream(APIReply(body: ByteBuffer()), length: nil) { @concurrent writer in
            let chunk = ByteBuffer(repeating: UInt8(ascii: " "), count: 1 << 16)
            var left = bytes
            while left > 0 {
                try await writer.write(chunk.getSlice(at: 0, length: min(left, 1 << 16)) ?? chunk)
                left -= 1 << 16
            }
        }
    }

    private func stream(
        _ reply: APIReply,
        length: Int?,
        _ write: @concurrent @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) -> Response {
        Response(
            status: HTTPResponse.Status(code: reply.status),
            headers: SandboxHeaders.fields(reply, for: request),
            body: ResponseBody(contentLength: length) { @concurrent writer in
                try await write(&writer)
                try await writer.finish(nil)
            }
        )
    }
}
