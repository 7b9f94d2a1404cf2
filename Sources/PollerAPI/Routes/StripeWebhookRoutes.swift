import Hummingbird
import NIOCore
import Poller

/// Where Stripe posts its events: the signature is the key, and each is a hint.
///
/// *Bounds*: 256 KiB, several times the largest event (an object of 64 KiB, metadata included).
/// Answered as soon as the hints are stored; 503 when they cannot be, which Stripe repeats.
struct StripeWebhookRoutes {
    /// See above.
    static let bodyBytesMax = 262_144

    let intake: (any WebhookIntake)?
    let reader: BodyReader

    func add(to router: Router<APIContext>) {
        router.add(.stripeWebhook, receive)
        router.add(.stripeAccountWebhook, receive)
    }

    @Sendable
    private func receive(_ request: Request, _ context: APIContext) async throws -> Response {
        let account = try context.parameters.get("account").map { text throws(Problem) in
            try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                try AccountID(text)
            }
        }
        guard let signature = request.headers[.stripeSignature] else {
            throw Problem(
                .invalidSignature,
                "Stripe-Signature is missing: what Stripe sends has it.",
                field: "Stripe-Signature"
            )
        }
        guard let intake else { throw Self.notConfigured }
        let body = try await reader.read(request, bytesMax: Self.bodyBytesMax)
        let outcome = try await intake.receive(
            body,
            signature: signature,
            account: account ?? .main
        )
        var json = JSONObject()
        json.add("result", outcome.name)
        switch outcome {
        case .accepted(let hinted, let enqueued):
            json.add("hinted", hinted)
            json.add("enqueued", enqueued)
        case .duplicate: break
        case .ignored(let reason): json.add("reason", reason)
        case .refused(let reason):
            throw Problem(.invalidSignature, "\(reason).", field: "Stripe-Signature")
        case .unknownAccount: throw Self.notConfigured
        }
        return Response(json: json.text)
    }

    private static let notConfigured = Problem(
        .notFound,
        "No webhook secret is configured for this account: start the server with "
            + "STRIPE_WEBHOOK_SECRET."
    )
}
