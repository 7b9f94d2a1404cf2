/// The type-specific details of a Source, from the hash named after its type.
///
/// *Shape*: `{"type": "ideal", "ideal": {"bank": "ing", …}}`. An unknown type keeps its hash as ``other(_:)``. Fields
/// without a property are in the Source's ``StripeObject/allResponseFields``.
/// *Source*: <https://docs.stripe.com/api/sources/object>.
public enum SourceDetails: Hashable, Sendable {
    /// Of a Source with type `ach_credit_transfer`.
    case achCreditTransfer(SourceACHCreditTransferDetails)
    /// Of a Source with type `ach_debit`.
    case achDebit(SourceACHDebitDetails)
    /// Of a Source with type `acss_debit`.
    case acssDebit(SourceACSSDebitDetails)
    /// Of a Source with type `alipay`.
    case alipay(SourceAlipayDetails)
    /// Of a Source with type `au_becs_debit`.
    case auBECSDebit(SourceAUBECSDebitDetails)
    /// Of a Source with type `bancontact`.
    case bancontact(SourceBancontactDetails)
    /// Of a Source with type `card`.
    case card(SourceCardDetails)
    /// Of a Source with type `card_present`.
    case cardPresent(SourceCardPresentDetails)
    /// Of a Source with type `eps`.
    case eps(SourceEPSDetails)
    /// Of a Source with type `giropay`.
    case giropay(SourceGiropayDetails)
    /// Of a Source with type `ideal`.
    case ideal(SourceIdealDetails)
    /// Of a Source with type `klarna`.
    case klarna(SourceKlarnaDetails)
    /// Of a Source with type `multibanco`.
    case multibanco(SourceMultibancoDetails)
    /// Of a Source with type `p24`.
    case p24(SourceP24Details)
    /// Of a Source with type `sepa_credit_transfer`.
    case sepaCreditTransfer(SourceSEPACreditTransferDetails)
    /// Of a Source with type `sepa_debit`.
    case sepaDebit(SourceSEPADebitDetails)
    /// Of a Source with type `sofort`.
    case sofort(SourceSofortDetails)
    /// Of a Source with type `three_d_secure`.
    case threeDSecure(SourceThreeDSecureDetails)
    /// Of a Source with type `wechat`.
    case weChat(SourceWeChatDetails)
    /// Of a Source with any other type: the unchanged hash.
    case other(JSONValue)
}

extension SourceDetails {
    /// Reads the hash of a type; `nil` when the Source has none.
    init?(_ type: SourceType, in fields: KeyedDecodingContainer<AnyKey>) throws {
        func hash<Value: Decodable>(_ wrap: (Value) -> SourceDetails) throws -> SourceDetails? {
            try fields.optional(type.rawValue).map(wrap)
        }
        let details =
            switch type {
            case .achCreditTransfer: try hash(SourceDetails.achCreditTransfer)
            case .achDebit: try hash(SourceDetails.achDebit)
            case .acssDebit: try hash(SourceDetails.acssDebit)
            case .alipay: try hash(SourceDetails.alipay)
            case .auBecsDebit: try hash(SourceDetails.auBECSDebit)
            case .bancontact: try hash(SourceDetails.bancontact)
            case .card: try hash(SourceDetails.card)
            case .cardPresent: try hash(SourceDetails.cardPresent)
            case .eps: try hash(SourceDetails.eps)
            case .giropay: try hash(SourceDetails.giropay)
            case .ideal: try hash(SourceDetails.ideal)
            case .klarna: try hash(SourceDetails.klarna)
            case .multibanco: try hash(SourceDetails.multibanco)
            case .p24: try hash(SourceDetails.p24)
            case .sepaCreditTransfer: try hash(SourceDetails.sepaCreditTransfer)
            case .sepaDebit: try hash(SourceDetails.sepaDebit)
            case .sofort: try hash(SourceDetails.sofort)
            case .threeDSecure: try hash(SourceDetails.threeDSecure)
            case .wechat: try hash(SourceDetails.weChat)
            default: try hash(SourceDetails.other)
            }
        guard let details else { return nil }
        self = details
    }
}
