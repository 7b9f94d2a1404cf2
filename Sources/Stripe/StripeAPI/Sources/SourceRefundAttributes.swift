/// The account for refunds of a receiver Source.
///
/// *Shape*: fields of the hash named after the type, as `multibanco[refund_iban]`.
/// *Source*: <https://docs.stripe.com/sources/multibanco>, <https://docs.stripe.com/sources/ach-credit-transfer> and
/// <https://docs.stripe.com/sources/sepa-credit-transfer>.
public enum SourceRefundAttributes: Hashable, Sendable {
    /// A US account; `holderType` is `individual` or `company`.
    case achCreditTransfer(
        holderName: String,
        holderType: String,
        routingNumber: String,
        accountNumber: String
    )
    /// A European account, for a Multibanco payment.
    case multibanco(holderName: String, iban: String, address: StripeAddress? = nil)
    /// A European account, for a SEPA credit transfer.
    case sepaCreditTransfer(holderName: String, iban: String, address: StripeAddress? = nil)
    /// The fields of the hash of another type.
    case other(SourceType, [String: JSONValue])

    /// The hash under its type's name.
    var parameters: [String: JSONValue] {
        switch self {
        case .achCreditTransfer(let name, let type, let routingNumber, let accountNumber):
            return [
                "ach_credit_transfer": [
                    "refund_account_holder_name": .string(name),
                    "refund_account_holder_type": .string(type),
                    "refund_routing_number": .string(routingNumber),
                    "refund_account_number": .string(accountNumber),
                ]
            ]
        case .multibanco(let name, let iban, let address):
            return ["multibanco": Self.ibanFields(name, iban, address)]
        case .sepaCreditTransfer(let name, let iban, let address):
            return ["sepa_credit_transfer": Self.ibanFields(name, iban, address)]
        case .other(let type, let fields): return [type.rawValue: .object(fields)]
        }
    }

    private static func ibanFields(
        _ name: String,
        _ iban: String,
        _ address: StripeAddress?
    ) -> JSONValue {
        var fields: [String: JSONValue] = [
            "refund_account_holder_name": .string(name), "refund_iban": .string(iban),
        ]
        for (part, value) in address?.parameters.object ?? [:] {
            fields["refund_account_holder_address_" + part] = value
        }
        return .object(fields)
    }
}

extension SourceRefundAttributes: RedactedValue {}
