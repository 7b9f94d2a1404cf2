/// What the customer must do next to complete an intent.
///
/// *Shape*: `{"type": "redirect_to_url", "redirect_to_url": {"url": …, "return_url": …}}`.
/// *Source*: <https://docs.stripe.com/api/payment_intents/object>, `next_action`.
public struct NextAction: Codable, Hashable, Sendable {
    /// The kind of step.
    public let type: NextActionType
    /// Where to send the customer, for type `redirect_to_url`.
    public let redirectToURL: RedirectToURL?
    /// The hash named after the type, for `redirect_to_url` too.
    public let details: JSONValue?
    /// The object as the API sent it, unknown fields included.
    public let allResponseFields: JSONValue

    /// Where to send the customer and where they come back to.
    public struct RedirectToURL: Codable, Hashable, Sendable {
        /// Where to send the customer.
        public let url: String?
        /// Where they come back to.
        public let returnURL: String?

        private enum CodingKeys: String, SnakeKey {
            case url, returnURL
        }
    }

    /// Decodes the API's object; `type` is required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        type = try fields.required("type")
        redirectToURL = try fields.optional("redirect_to_url")
        details = try fields.optional(type.rawValue)
        allResponseFields = try JSONValue(from: decoder)
    }

    /// Encodes the object as it was received.
    public func encode(to encoder: any Encoder) throws {
        try allResponseFields.encode(to: encoder)
    }

    /// A page that shows the customer what to do, whatever the kind; nil for kinds that have none.
    ///
    /// Stripe hosts one for redirects, vouchers, bank transfers, codes and micro-deposits.
    public var hostedURL: String? {
        let names = [
            "url", "hosted_voucher_url", "hosted_instructions_url", "hosted_verification_url",
        ]
        return names.lazy.compactMap { details?[$0]?.string }.first
    }
}

extension NextAction: RedactedValue {
    /// The type alone: addresses carry the client secret.
    public var description: String { "next action \(type)" }
}

extension NextAction.RedirectToURL: RedactedValue {
    /// Nothing of the URL, which carries the client secret.
    public var description: String { url == nil ? "no address" : "address (redacted)" }
}

/// The kind of step a customer has to take for an intent.
public struct NextActionType: OpenEnum {
    /// Send the customer to a page.
    public static let redirectToURL = Self(rawValue: "redirect_to_url")

    /// Hand it to Stripe's own SDK in the customer's device.
    public static let useStripeSdk = Self(rawValue: "use_stripe_sdk")

    /// Send the customer to Alipay.
    public static let alipayHandleRedirect = Self(rawValue: "alipay_handle_redirect")

    /// The customer confirms in the bank's app within a minute.
    public static let blikAuthorize = Self(rawValue: "blik_authorize")

    /// Show the voucher.
    public static let boletoDisplayDetails = Self(rawValue: "boleto_display_details")

    /// Wait: the bank tells the customer first.
    public static let cardAwaitNotification = Self(rawValue: "card_await_notification")

    /// Send the customer to Cash App or show its code.
    public static let cashappHandleRedirectOrDisplayQRCode = Self(
        rawValue: "cashapp_handle_redirect_or_display_qr_code"
    )

    /// Show where to transfer the money.
    public static let displayBankTransferInstructions = Self(
        rawValue: "display_bank_transfer_instructions"
    )

    /// Show Klarna's code.
    public static let klarnaDisplayQRCode = Self(rawValue: "klarna_display_qr_code")

    /// Show how to pay in a convenience store.
    public static let konbiniDisplayDetails = Self(rawValue: "konbini_display_details")

    /// Show what to type at the ATM.
    public static let multibancoDisplayDetails = Self(rawValue: "multibanco_display_details")

    /// Show the voucher.
    public static let oxxoDisplayDetails = Self(rawValue: "oxxo_display_details")

    /// Show the code.
    public static let paynowDisplayQRCode = Self(rawValue: "paynow_display_qr_code")

    /// Show the code.
    public static let pixDisplayQRCode = Self(rawValue: "pix_display_qr_code")

    /// Show the code.
    public static let promptpayDisplayQRCode = Self(rawValue: "promptpay_display_qr_code")

    /// Send the customer to Swish or show its code.
    public static let swishHandleRedirectOrDisplayQRCode = Self(
        rawValue: "swish_handle_redirect_or_display_qr_code"
    )

    /// Send the customer to the UPI app or show its code.
    public static let upiHandleRedirectOrDisplayQRCode = Self(
        rawValue: "upi_handle_redirect_or_display_qr_code"
    )

    /// Ask for the amounts or the code of two small deposits.
    public static let verifyWithMicrodeposits = Self(rawValue: "verify_with_microdeposits")

    /// Show the code.
    public static let wechatPayDisplayQRCode = Self(rawValue: "wechat_pay_display_qr_code")

    /// Open the WeChat app on Android.
    public static let wechatPayRedirectToAndroidApp = Self(
        rawValue: "wechat_pay_redirect_to_android_app"
    )

    /// Open the WeChat app on an iPhone.
    public static let wechatPayRedirectToIosApp = Self(rawValue: "wechat_pay_redirect_to_ios_app")

    /// The words known when this library was written.
    public static let known: Set<String> = [
        "redirect_to_url", "use_stripe_sdk", "alipay_handle_redirect", "blik_authorize",
        "boleto_display_details", "card_await_notification",
        "cashapp_handle_redirect_or_display_qr_code", "display_bank_transfer_instructions",
        "klarna_display_qr_code", "konbini_display_details", "multibanco_display_details",
        "oxxo_display_details", "paynow_display_qr_code", "pix_display_qr_code",
        "promptpay_display_qr_code", "swish_handle_redirect_or_display_qr_code",
        "upi_handle_redirect_or_display_qr_code", "verify_with_microdeposits",
        "wechat_pay_display_qr_code", "wechat_pay_redirect_to_android_app",
        "wechat_pay_redirect_to_ios_app",
    ]

    /// The word, folded to lower case when known.
    public let rawValue: String
    /// Wraps a word; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
