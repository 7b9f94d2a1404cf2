#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The parameters of a new Source: generic fields, type-specific fields and additional API parameters.
///
/// Each payment method has a constructor (`.ideal(amount:…)`, `.sepaDebit(name:…)`), which sets exactly the
/// documented fields. Every field can be changed afterwards. A copy keeps all fields including
/// ``additionalAPIParameters``, which the SDK's `copy()` loses.
///
/// *Shape*: a form, `type=ideal&amount=1099&owner[name]=Jenny&redirect[return_url]=…`. *Units*: amounts in the
/// currency's smallest unit. *Errors*: none here; the API returns 400 and names the invalid parameter.
/// *Source*: <https://docs.stripe.com/api/sources/create>, `STPSourceParams` of stripe-ios.
public struct SourceParams: Hashable, Sendable {
    /// The payment method.
    public var type: SourceType?
    /// The amount to collect; `nil` for reusable Sources.
    public var amount: Int?
    /// The ISO 4217 currency code: three letters, lower case.
    public var currency: String?
    /// The flow; `nil` for the default of the type.
    public var flow: SourceFlow?
    /// Whether the Source is single-use or reusable.
    public var usage: SourceUsage?
    /// The owner: the person who pays.
    public var owner: SourceOwner?
    /// `redirect[return_url]`: the URL the customer returns to.
    public var returnURL: String?
    /// A token of Stripe.js or an SDK, `tok_…`, which replaces the payment data.
    public var token: String?
    /// The customer to attach the Source to, `cus_…`; for reusable Sources.
    public var customer: String?
    /// The platform's Source to copy, `src_…` (Connect).
    public var originalSource: String?
    /// The mandate, for direct debits.
    public var mandate: SourceMandate?
    /// `receiver[refund_attributes_method]`: how refund details are requested; `nil` for Stripe's email.
    public var refundAttributesMethod: RefundAttributesMethod?
    /// The text on the customer's bank statement: at most 35 characters, 32 for WeChat.
    ///
    /// Sofort forbids `/(){}`.
    public var statementDescriptor: String?
    /// The caller's key-value pairs.
    public var metadata: [String: String]
    /// The hash named after the type, for example `["bank": "ing"]` for iDEAL; ignored without a type.
    public var details: [String: JSONValue]
    /// Additional API parameters, which are merged over the fields above member by member.
    public var additionalAPIParameters: [String: JSONValue]

    /// Creates the parameters of a Source of any type.
    public init(
        type: SourceType? = nil,
        amount: Int? = nil,
        currency: String? = nil,
        flow: SourceFlow? = nil,
        usage: SourceUsage? = nil,
        owner: SourceOwner? = nil,
        returnURL: String? = nil,
        token: String? = nil,
        customer: String? = nil,
        originalSource: String? = nil,
        mandate: SourceMandate? = nil,
        refundAttributesMethod: RefundAttributesMethod? = nil,
        statementDescriptor: String? = nil,
        metadata: [String: String] = [:],
        details: [String: JSONValue] = [:],
        additionalAPIParameters: [String: JSONValue] = [:]
    ) {
        self.type = type
        self.amount = amount
        self.currency = currency
        self.flow = flow
        self.usage = usage
        self.owner = owner
        self.returnURL = returnURL
        self.token = token
        self.customer = customer
        self.originalSource = originalSource
        self.mandate = mandate
        self.refundAttributesMethod = refundAttributesMethod
        self.statementDescriptor = statementDescriptor
        self.metadata = metadata
        self.details = details
        self.additionalAPIParameters = additionalAPIParameters
    }

    /// The form parameters, sorted by name.
    public var form: [(String, String)] {
        var fields = JSONValue.fields([
            "type": .optional(type), "amount": .optional(amount), "currency": .optional(currency),
            "flow": .optional(flow), "usage": .optional(usage),
            "owner": owner?.parameters.nilIfEmpty,
            "redirect": returnURL.map { ["return_url": .string($0)] }, "token": .optional(token),
            "customer": .optional(customer), "original_source": .optional(originalSource),
            "mandate": mandate?.parameters.nilIfEmpty,
            "receiver": refundAttributesMethod.map {
                ["refund_attributes_method": .string($0.rawValue)]
            },
            "statement_descriptor": .optional(statementDescriptor),
            "metadata": .texts(metadata),
        ])
        if let type { fields = fields.merging(.object([type.rawValue: .object(details)])) }
        return FormFields.pairs(of: fields.merging(.object(additionalAPIParameters)))
    }
}

extension SourceParams: RedactedValue {
    /// The type only, because other fields may contain card numbers and customer data.
    public var description: String { "source params \(type?.rawValue ?? "without type")" }
}

extension SourceParams {
    /// Returns a copy whose return URL includes the merchant's name for Stripe's redirect pages.
    ///
    /// The SDKs always append `redirect_merchant_name` unless the return URL has it; here the caller decides. A
    /// return URL that cannot be parsed stays unchanged.
    /// - Parameter name: The merchant's name as known to customers.
    /// - Returns: The copy.
    public func addingMerchantName(_ name: String) -> SourceParams {
        guard let returnURL, var components = URLComponents(string: returnURL) else { return self }
        var items = components.queryItems ?? []
        guard !items.contains(where: { $0.name == "redirect_merchant_name" }) else { return self }
        items.append(URLQueryItem(name: "redirect_merchant_name", value: name))
        components.queryItems = items
        var copy = self
        copy.returnURL = components.string ?? returnURL
        return copy
    }
}
