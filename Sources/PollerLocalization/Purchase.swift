package import JSONText
package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// The order behind a payment, from the shop's metadata and branding.
package struct Purchase: Hashable, Sendable {
    /// The shop's order number.
    package let order: String?
    /// The shop's description, used when there is no order number.
    package let note: String?
    package let shop: String?
    /// The return link of this payment, if the shop gave one.
    package let returnLink: ShopReturnLink?
    /// Whether a payment method is saved and nothing is paid.
    package let isSetup: Bool
    /// The payer's time zone from the metadata, or the shop's; `nil` for UTC.
    package let zone: PayerZone?
    /// The payee of a transfer when the upstream names none.
    package let payee: String?

    /// The largest length of a text, in characters: it must fit an email subject and a row on a phone.
    private static let charactersMax = 80

    /// Creates a purchase.
    ///
    /// Line breaks and direction marks are removed, and long texts are truncated.
    package init(
        order: String? = nil,
        note: String? = nil,
        shop: String? = nil,
        returnLink: ShopReturnLink? = nil,
        isSetup: Bool = false,
        zone: PayerZone? = nil,
        payee: String? = nil
    ) {
        self.order = Self.line(order)
        self.note = Self.line(note)
        self.shop = Self.line(shop)
        self.returnLink = returnLink
        self.isSetup = isSetup
        self.zone = zone
        self.payee = Self.line(payee)
    }

    /// Reads the order data of a watch.
    ///
    /// - Parameters:
    ///   - order: the order of the watch; if `nil`, `order` or `order_id` of the metadata.
    ///   - metadata: the JSON object of the watch. `return_url` is the payer's return link, `time_zone` the payer's
    ///     time zone.
    ///   - object: the upstream's object. Its description is used when there is no order.
    ///   - branding: the shop's branding; `nil` when it has none.
    ///   - kind: the kind of the watched object.
    package init(
        order: String? = nil,
        metadata: RawJSON?,
        object: UpstreamObject,
        branding: Branding?,
        kind: SourceKind
    ) {
        func value(_ name: String) -> String? {
            metadata?.member(name).flatMap { $0.string ?? $0.number }
        }
        self.init(
            order: order ?? [value("order"), value("order_id")].compactMap(Self.line).first,
            note: value("description") ?? object.note,
            shop: branding?.name,
            returnLink: value("return_url").flatMap(ShopReturnLink.init),
            isSetup: kind == .setupIntent,
            zone: value("time_zone").flatMap(PayerZone.init)
                ?? branding?.timeZone.flatMap(PayerZone.init),
            payee: branding?.accountHolder ?? branding?.name
        )
    }

    /// The customer's language: `locale` or `language` of the metadata, otherwise the locale of the upstream's object;
    /// `nil` when neither is set.
    package static func language(metadata: RawJSON?, object: UpstreamObject) -> PayerLanguage? {
        let given = ["locale", "language"].lazy.compactMap { metadata?.member($0)?.string }.first
        return (given ?? object.locale).flatMap { PayerLanguage(tag: $0) }
    }

    private static func line(_ text: String?) -> String? {
        guard let text else { return nil }
        let scalars = text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
            default: true
            }
        }
        let line = String(String.UnicodeScalarView(scalars)).prefix(charactersMax)
        return line.allSatisfy(\.isWhitespace) ? nil : String(line)
    }
}

/// The fields of an upstream's object that payers may see.
///
/// The payment's state and next step come from ``Payment`` and ``NextStep``. These fields supplement them, and replace
/// the payment when an event has none.
package struct UpstreamObject: Hashable, Sendable {
    package let amount: Amount?
    package let currency: String?
    package let method: PaymentMethod?
    /// Whether the object is in live mode; `nil` when it does not say.
    package let isLive: Bool?
    /// Whether the event has an object.
    package let hasObject: Bool
    /// The failure reason of the redirect.
    package let failure: String?
    /// Whether the last attempt of an intent failed.
    package let hasFailed: Bool
    /// Whether a charge of Stripe, alone or in its intent, is or was disputed.
    package let isDisputed: Bool
    /// The redirect URL, with secrets redacted.
    package let redirect: String?
    let note: String?
    let locale: String?

    /// Reads the object of an event.
    ///
    /// Without an object all fields are unknown.
    package init(_ event: Event?) {
        let object = event.flatMap { RawJSON(unchecked: $0.json).member("object") }
        func text(_ name: String, in parent: RawJSON?) -> String? {
            parent?.member(name)?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        hasObject = object.map { !$0.isNull } ?? false
        amount = object?.member("amount")?.number
            .flatMap { Amount(decimal: $0) }.flatMap { $0 < 0 ? nil : $0 }
        currency = text("currency", in: object)
        isLive = event?.isLive ?? object?.member("livemode")?.bool
        let isSource = event?.key.kind == .source
        let details = object?.member("payment_method_details")
        let type = text("type", in: details) ?? (isSource ? text("type", in: object) : nil)
        method = PaymentMethod(type)
        let action = object?.member("next_action")?.member("redirect_to_url")
        redirect = text("url", in: object?.member("redirect")) ?? text("url", in: action)
        failure = text("failure_reason", in: object?.member("redirect"))
        hasFailed = ["last_payment_error", "last_setup_error"].contains { name in
            object?.member(name).map { !$0.isNull } ?? false
        }
        let charge = event?.key.kind == .paymentIntent ? object?.member("latest_charge") : object
        isDisputed =
            event?.key.kind.isOfPayments == true && charge?.member("disputed")?.bool == true
        note = text("description", in: object)
        let own = method.flatMap { object?.member($0.name) }
        locale = text("preferred_language", in: own) ?? text("locale", in: own)
    }

    /// Returns a payment of the object, for an event without one.
    package func payment(_ state: PaymentState, because reason: PaymentReason?) -> Payment {
        Payment(
            state: state,
            amount: amount,
            amountReceived: state == .paid ? amount ?? .zero : .zero,
            currency: currency,
            method: method,
            reason: reason
        )
    }
}

/// A labelled value.
package struct PayerFact: Hashable, Sendable {
    package let label: String
    package let value: String
    /// The text that the copy button copies; `nil` without a button.
    package let copied: String?
    /// Whether the value stays on one line, such as an IBAN, which people compare digit by digit.
    package let isUnbroken: Bool

    init(_ label: String, _ value: String, copied: String? = nil, isUnbroken: Bool = false) {
        self.label = label
        self.value = value
        self.copied = copied
        self.isUnbroken = isUnbroken
    }
}

/// A labelled link.
package struct PayerLink: Hashable, Sendable {
    package let label: String
    package let url: String

    package init(_ label: String, _ url: String) {
        self.label = label
        self.url = url
    }
}
