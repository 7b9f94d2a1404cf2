import Hummingbird
import NIOCore
import Poller
import PollerIdentity
import PollerWire

/// Where Stripe posts its events: the signature is the key, and each is a hint.
///
/// *Bounds*: 4 MiB. Most events have a few KiB; an intent with the charges of an old API version, or an invoice
/// with long lines, has hundreds. A process reads four events of more than 256 KiB at a time, because nobody has shown
/// a key before the whole body is here: so strangers can hold 16 MiB by such bodies, and events of the usual size pass
/// beside them. The fifth is answered 429, which Stripe repeats.
/// Answered as soon as the hints are stored; 503 when they cannot be, and 429 when what is new is to be
/// watched and its account has as many open watches as it may, which Stripe repeats both.
///
/// An event is never believed: it only makes us look earlier. So one that is late, forged with a leaked
/// secret or sent twice can do no more than have something looked at, and one that never comes costs
/// nothing but time.
struct StripeWebhookRoutes {
    /// See above.
    static let bodyBytesMax = 4 << 20
    /// Bodies up to it are read however many there are.
    static let smallBytesMax = 262_144
    /// Larger ones read at a time.
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
                "Whose webhook secret it is signed with.",
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
            "Stripe's events: signed hints, looked at and never believed",
            access: .signed,
            // A URL that somebody has typed into Stripe's dashboard may carry anything.
            input: input.lenient(),
            body: .raw("application/json", ["type": "object"]),
            answers: [
                .ok(
                    "Taken, known already, or not ours; Stripe need not send it again.",
                    "WebhookResult"
                )
            ],
            problems: [400, 404, 429, 500, 503],
            audit: .traffic("Stripe's own events, by the thousand")
        )
    }

    @Sendable
    private func receive(
        _ input: (account: AccountID, signature: String),
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let intake else { throw Self.notConfigured }
        let place = LargeBodies.Place(large)
        defer { place.leave() }
        let body = try await reader.read(request, bytesMax: Self.bodyBytesMax) { length in
            guard length > Self.smallBytesMax, !place.take() else { return }
            throw Problem(
                .tooManyRequests,
                "Several events of this size are being read: send it again.",
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
    /// What proves that a body is Stripe's.
    fileprivate static var signature: Self {
        let parameter = RouteParameter(
            name: "Stripe-Signature",
            place: .header,
            description: "t=<unix seconds>,v1=<hex>; over the raw body.",
            schema: ["type": "string"],
            isRequired: true
        )
        return Self([parameter]) { values throws(Problem) in
            guard let signature = values.header(.stripeSignature) else {
                throw Problem(
                    .invalidSignature,
                    "Stripe-Signature is missing: what Stripe sends has it.",
                    field: "Stripe-Signature"
                )
            }
            return signature
        }
    }
}
