/// The object under `error` in every error response, and the last error of an intent.
///
/// *Shape*:
/// `{"error": {"type": "card_error", "code": "card_declined", "decline_code": …, "message": …}}`.
/// It is read as far as it can be: a field of another type counts as missing, because an error
/// that cannot be read would not help. *Source*: <https://docs.stripe.com/error-low-level>,
/// `api_errors` of the OpenAPI specification.
public struct StripeErrorBody: Codable, Hashable, Sendable {
    /// The family of the error.
    public let type: StripeErrorType?

    /// A stable word such as `resource_missing` or `lock_timeout`.
    public let code: String?

    /// The issuer's reason, for declined cards.
    public let declineCode: String?

    /// Text for people; it may quote input.
    public let message: String?

    /// The parameter at fault.
    public let param: String?

    /// The charge a failed payment made.
    public let charge: String?

    /// A page about the code.
    public let docURL: String?

    /// The request in the Dashboard's log.
    public let requestLogURL: String?

    /// `pi_…` of the intent at fault, which the API sends as a whole.
    public let paymentIntent: String?

    /// `pm_…` of the method at fault, which the API sends as a whole.
    public let paymentMethod: String?

    /// The kind of the method at fault.
    public let paymentMethodType: String?

    /// `seti_…` of the intent at fault, which the API sends as a whole.
    public let setupIntent: String?

    /// The Source, card or bank account at fault, which the API sends as a whole.
    public let source: String?

    /// Decodes what can be read of the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        // Lenient as said above: a field of another type counts as missing.
        type = try? fields.optional("type")
        code = try? fields.optional("code")
        declineCode = try? fields.optional("decline_code")
        message = try? fields.optional("message")
        param = try? fields.optional("param")
        charge = try? fields.reference("charge")
        docURL = try? fields.optional("doc_url")
        requestLogURL = try? fields.optional("request_log_url")
        paymentIntent = try? fields.reference("payment_intent")
        paymentMethod = try? fields.reference("payment_method")
        paymentMethodType = try? fields.optional("payment_method_type")
        setupIntent = try? fields.reference("setup_intent")
        source = try? fields.reference("source")
    }

    private enum CodingKeys: String, SnakeKey {
        case type, code, message, param, charge, source, declineCode, docURL, requestLogURL,
            paymentIntent, paymentMethod, paymentMethodType, setupIntent
    }
}

extension StripeErrorBody: RedactedValue {
    /// Type and code, without the message, which may quote a customer's input.
    public var description: String {
        let words = [type?.rawValue, code, declineCode].compactMap { $0 }
        return words.isEmpty ? "error" : words.joined(separator: " ")
    }
}

/// The family of an API error.
public struct StripeErrorType: OpenEnum {
    /// Stripe's own fault.
    public static let apiError = Self(rawValue: "api_error")

    /// The payment method was declined.
    public static let cardError = Self(rawValue: "card_error")

    /// An idempotency key was used with other parameters.
    public static let idempotencyError = Self(rawValue: "idempotency_error")

    /// The request is wrong.
    public static let invalidRequestError = Self(rawValue: "invalid_request_error")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "api_error", "card_error", "idempotency_error", "invalid_request_error",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The outermost object of an error response.
struct StripeErrorEnvelope: Decodable {
    let error: StripeErrorBody
}
