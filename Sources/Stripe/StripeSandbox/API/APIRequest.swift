import HTTPTypes
import NIOCore

/// One request to the API as it came in: a call, or the reason why it is none.
struct APIRequest {
    let method: HTTPRequest.Method
    let path: String
    let keySuffix: String
    let call: Result<APICall, APIError>
    /// Echoed in the answer.
    let idempotencyKey: String?
    let account: String?
    let version: String?

    init(_ request: HTTPRequest, path: String, query: String?, body: ByteBuffer, base: String) {
        method = request.method
        self.path = path
        let headers = request.headerFields
        let idempotencyKey = headers[SandboxHeaders.idempotencyKey]
        let account = headers[SandboxHeaders.account]
        self.idempotencyKey = idempotencyKey
        self.account = account
        version = headers[SandboxHeaders.version]
        var suffix = ""
        do throws(APIError) {
            let key = try APIKey(headers)
            suffix = key.suffix
            try Self.requireVersion(headers[SandboxHeaders.version])
            call = .success(
                APICall(
                    method: request.method,
                    path: path,
                    segments: Array(path.split(separator: "/").dropFirst()),
                    key: key,
                    form: request.method == .post
                        ? try Form(parsing: body.readableBytesView)
                        : try query.map { text throws(APIError) in try Form(parsing: text.utf8) }
                            ?? Form(),
                    body: body,
                    idempotencyKey: idempotencyKey,
                    account: account,
                    base: base
                )
            )
        } catch {
            call = .failure(error)
        }
        keySuffix = suffix
    }

    /// `2026-10-28.endive`: a date, and since 2024 the name of a release.
    private static func requireVersion(_ version: String?) throws(APIError) {
        guard let version else { return }
        let isDate = zip(version.utf8, "0000-00-00".utf8).allSatisfy { given, wanted in
            wanted == UInt8(ascii: "-")
                ? given == wanted : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(given)
        }
        guard isDate, version.utf8.count >= 10 else {
            throw APIError.invalid(
                "Invalid Stripe API version: \(version). It looks like 2026-10-28.endive."
            )
        }
    }
}
