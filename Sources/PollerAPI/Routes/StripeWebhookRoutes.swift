import Hummingbird
import NIOCore
import PollerHints
import PollerIdentity
import PollerWire

/// The route for Stripe's events.
///
/// The signature authorises the request, and each event is a hint.
///
/// *Bounds*: 4 MiB. Most events have a few KiB. An intent with the charges of an old API version, or an invoice with
/// long lines, has hundreds. A process reads at most four events of more than 256 KiB at a time. Their signature can
/// only be checked after the whole body has arrived. So unauthenticated clients can occupy at most 16 MiB, and events
/// of the usual size are not affected. The fifth one gets a 429, which Stripe retries.
/// The response is sent as soon as the hints are stored. It is 503 if they cannot be stored. It is 429 if a new source
/// is to be watched and its account has reached its limit of open watches. Stripe retries both.
///
/// An event is never trusted: it only triggers an earlier poll. So a late, forged or repeated event can only cause a
/// poll, and a missing one only costs time.
struct StripeWebhookRoutes {
    /// See above.
    static let bodyBytesMax = 4 << 20
    /// The size up to which bodies are read without a limit on their number.
    static let smallBytesMax = 262_144
    /// The maximum number of larger bodies read at a time.
    static let largeMax = 4

    private static let main = route(
        "/v1/stripe/webhook",
        "stripeWebhook",
        input: .all(.always(AccountID.main), .signature) { (account: $0, signature: $1) }
    )
    private static let ofAccount = route(
        "/v1/stripe/webhook/{account}",
        "stripeAccountWebhook",
        input: .all(
            .path(
                AccountID.self,
                "account",
                "The account whose webhook secret signs the request.",
                .name(64)
            ),
            .signature
        ) { (account: $0, signature: $1) }
    )

    let intake: (any WebhookIntake)?
    let reader: BodyReader
    private let large = LargeBodies(most: Self.largeMax)

    var routes: [AnsweredRoute] {
        [Self.main.answered(by: receive), Self.ofAccount.answered(by: receive)]
    }

    private static func route(
        _ path: String,
        _ operation: String,
        input: RouteInput<(account: AccountID, signature: String)>
    ) -> Route<(account: AccountID, signature: String)> {
        Route(
            .post,
            path,
            operation,
            "Receive Stripe's events: signed hints that trigger a poll",
            access: .signed,
            // A URL entered in Stripe's dashboard may have any query.
            input: input.lenient(),
            body: .raw("application/json", ["type": "object"]),
            answers: [
                .ok(
                    "The event was accepted, known already or not relevant; Stripe need "
                        + "not send it again.",
                    "WebhookResult"
                )
            ],
            problems: [400, 404, 429, 500, 503],
            audit: .traffic("Stripe sends thousands of events")
        )
    }

    private func receive(
        _ input: (account: AccountID, signature: String),
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let intake else { throw Self.notConfigured }
        let slot = LargeBodies.Slot(large)
        defer { slot.leave() }
        let body = try await reader.read(request, bytesMax: Self.bodyBytesMax) { length in
            guard length > Self.smallBytesMax, !slot.take() else { return }
            throw Problem(
                .tooManyRequests,
                "Too many events of this size are being read: send it again.",
                retryAfterSeconds: 1
            )
        }
        let outcome = try await intake.receive(
            body,
            signature: input.signature,
            account: input.account
        )
        var answer = WebhookResult()
        answer.result = Open(rawValue: outcome.name)
        switch outcome {
        case .accepted(let hinted, let enqueued):
            answer.hinted = hinted
            answer.enqueued = enqueued
        case .duplicate, .setAside: break
        case .ignored(let reason): answer.reason = reason
        case .refused(let reason):
            throw Problem(.invalidSignature, "\(reason).", field: "Stripe-Signature")
        case .unknownAccount: throw Self.notConfigured
        case .tooManyWatches(let refusal): throw Problem(refusal)
        }
        return Response(answer)
    }

    private static let notConfigured = Problem(
        .notFound,
        "No webhook secret is configured for this account: start the server with "
            + "STRIPE_WEBHOOK_SECRET."
    )
}

extension RouteInput where Value == String {
    /// The signature that proves that a body is from Stripe.
    fileprivate static var signature: Self {
        let parameter = RouteParameter(
            name: "Stripe-Signature",
            location: .header,
            description: "t=<unix seconds>,v1=<hex>; over the raw body.",
            schema: ["type": "string"],
            isRequired: true
        )
        return Self([parameter]) { values throws(Problem) in
            guard let signature = values.header(.stripeSignature) else {
                throw Problem(
                    .invalidSignature,
                    "Stripe-Signature is missing: Stripe's requests have it.",
                    field: "Stripe-Signature"
                )
            }
            return signature
        }
    }
}
