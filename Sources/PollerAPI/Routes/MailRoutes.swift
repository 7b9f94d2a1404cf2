import Foundation
import Hummingbird
import Poller

/// Mails that came back: what the relay's bounce processing reports, and who is sent nothing.
struct MailRoutes {
    private static let fields = ["recipient", "type"]
    private static let types = ["hard_bounce", "soft_bounce", "complaint"]

    let preferences: MailPreferences?
    let reader: BodyReader

    func add(to router: Router<APIContext>) {
        router.add(.reportBounce, report)
        router.add(.getSuppression, look)
        router.add(.liftSuppression, lift)
    }

    /// Reported twice is as good as once.
    @Sendable
    private func report(_ request: Request, _ context: APIContext) async throws -> Response {
        _ = try QueryParameters(request, allowed: [])
        try BodyReader.checkIdempotencyKey(request)
        try BodyReader.checkType(request, allowed: ["application/json"])
        let body = try RequestFields(
            try await reader.json(request),
            of: "a bounce",
            such: #"{"recipient":"a@b.example","type":"hard_bounce"}"#,
            known: Self.fields
        )
        guard let text = try body.string("recipient") else {
            throw Problem(.missingField, "recipient is required.", field: "recipient")
        }
        let recipient = try Problem.checked { () throws(InvalidInput) in
            try MailAddress(text, field: "recipient")
        }
        let type = try body.string("type") ?? ""
        guard Self.types.contains(type) else {
            let known = Self.types.joined(separator: ", ")
            throw Problem(.invalidValue, "type must be one of \(known).", field: "type")
        }
        let preferences = try known()
        // A soft bounce is the relay's to repeat: nothing follows from it here.
        if let reason = SuppressionReason(rawValue: type) {
            try await preferences.suppressions.suppress(
                SuppressionEntry(everywhere: recipient),
                because: reason
            )
        }
        return try await answer(recipient, of: .main)
    }

    @Sendable
    private func look(_ request: Request, _ context: APIContext) async throws -> Response {
        let (recipient, account) = try named(request, context)
        return try await answer(recipient, of: account)
    }

    @Sendable
    private func lift(_ request: Request, _ context: APIContext) async throws -> Response {
        let (recipient, account) = try named(request, context)
        try await known().suppressions.lift(recipient, of: account)
        return try await answer(recipient, of: account)
    }

    private func named(
        _ request: Request,
        _ context: APIContext
    ) throws(Problem) -> (MailAddress, AccountID) {
        let query = try QueryParameters(request, allowed: ["account"])
        let account = try query.checked("account") { text throws(InvalidInput) in
            try AccountID(text)
        }
        let shown = context.parameters.get("recipient") ?? ""
        // A bad encoding is no address either.
        let text = shown.removingPercentEncoding ?? shown
        let recipient = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
            try MailAddress(text, field: "recipient")
        }
        return (recipient, account ?? .main)
    }

    private func answer(
        _ recipient: MailAddress,
        of account: AccountID
    ) async throws -> Response {
        let reason = try await known().suppressions.reason(for: recipient, of: account)
        var json = JSONObject()
        json.add("recipient", recipient.description)
        json.add("suppressed", reason != nil)
        json.add("reason", orNull: reason?.rawValue)
        return Response(json: json.text)
    }

    private func known() throws(Problem) -> MailPreferences {
        guard let preferences else {
            throw Problem(.notFound, "This server keeps no list of suppressed recipients.")
        }
        return preferences
    }
}
