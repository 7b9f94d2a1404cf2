#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a Source is to be: generic fields, fields of its type, and whatever else the API takes.
///
/// There is a constructor for every payment method (`.ideal(amount:…)`, `.sepaDebit(name:…)`), each of which sets
/// exactly the fields of its documentation; any field may be changed afterwards. A value: a copy keeps all of it,
/// ``additionalAPIParameters`` included (the SDK's `copy()` loses those).
///
/// *Shape*: a form, `type=ideal&amount=1099&owner[name]=Jenny&redirect[return_url]=…`. *Units*: amounts in the
/// currency's smallest unit. *Errors*: none here; the API answers 400 and names the parameter at fault.
/// *Source*: <https://docs.stripe.com/api/sources/create>, `STPSourceParams` of stripe-ios.
public struct SourceParams: Hashable, Sendable {
    /// The payment method.
    public var type: SourceType?
    /// What to collect; left out for reusable sources.
    public var amount: Int?
    /// Three letters, lower case.
    public var currency: String?
    /// What the customer must do; the type's usual way when nil.
    public var flow: SourceFlow?
    /// Whether it may be charged once or again.
    public var usage: SourceUsage?
    /// Who pays.
    public var owner: SourceOwner?
    /// `redirect[return_url]`: where the customer comes back to.
    public var returnURL: String?
    /// A token of Stripe.js or an SDK, `tok_…`, instead of the method's own data.
    public var token: String?
    /// Whose it will be at once, `cus_…`; for reusable sources.
    public var customer: String?
    /// The Source this one is made from, `src_…`: of the platform's (Connect).
    public var originalSource: String?
    /// The customer's consent to be debited, for direct debits.
    public var mandate: SourceMandate?
    /// `receiver[refund_attributes_method]`: who asks a receiver's customer where a refund goes; Stripe by mail when nil.
    public var refundAttributesMethod: RefundAttributesMethod?
    /// The text on the customer's statement: at most 35 characters, 32 for WeChat; sofort takes none of `/(){}`.
    public var statementDescriptor: String?
    /// Free key-value pairs.
    public var metadata: [String: String]
    /// The hash named after the type, as `["bank": "ing"]` for iDEAL; ignored without a type.
    public var details: [String: JSONValue]
    /// Any other parameter; laid over the fields above, member by member.
    public var additionalAPIParameters: [String: JSONValue]

    /// Describes a Source of any type.
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

    /// The form's fields, sorted by name.
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
    /// The type alone: the rest may be card numbers and customers' data.
    public var description: String { "source params \(type?.rawValue ?? "without type")" }
}

extension SourceParams {
    /// The same with the merchant's name in the return URL, where Stripe's redirect pages look for it.
    ///
    /// The SDKs append `redirect_merchant_name` to the query of every return URL that has none; here it is asked
    /// for. A return URL that cannot be read stays as it is.
    /// - Parameter name: The merchant as customers know it.
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
