package import PollerIdentity

/// What of a charge goes to whom, where a platform collects for others (Connect).
///
/// *Shape*, within an order to charge:
/// `"application_fee_amount":99,"on_behalf_of":"acct_1","transfer_data":{"destination":"acct_1","amount":1000}`.
/// *Units*: the currency's smallest. *Source*: <https://docs.stripe.com/connect/charges>.
package struct ChargeSharing: Hashable, Sendable, Codable {
    /// The platform's share of what somebody else gets.
    package let feeAmount: Amount?
    /// The connected account that the payment is made for, `acct_…`.
    package let onBehalfOf: String?
    /// Where the money is sent on to.
    package let transfer: Transfer?

    /// Where the money is sent on to, and how much of it.
    package struct Transfer: Hashable, Sendable, Codable {
        /// A connected account, `acct_…`.
        package let destination: String
        /// All of it when nil.
        package let amount: Amount?

        /// Describes a transfer.
        package init(destination: String, amount: Amount? = nil) {
            self.destination = destination
            self.amount = amount
        }
    }

    private enum CodingKeys: String, CodingKey {
        case feeAmount = "application_fee_amount"
        case onBehalfOf = "on_behalf_of"
        case transfer = "transfer_data"
    }

    /// Checks how a charge is shared; nil when it is not.
    package init?(
        feeAmount: Amount? = nil,
        onBehalfOf: String? = nil,
        transfer: Transfer? = nil
    ) throws(InvalidInput) {
        guard feeAmount != nil || onBehalfOf != nil || transfer != nil else { return nil }
        for (field, sum) in [
            ("application_fee_amount", feeAmount), ("transfer_data.amount", transfer?.amount),
        ] where !(sum.map { $0 > 0 } ?? true) {
            throw InvalidInput(
                field: "charge.\(field)",
                message: "must be a positive whole number in the currency's smallest unit"
            )
        }
        for (field, account) in [
            ("on_behalf_of", onBehalfOf), ("transfer_data.destination", transfer?.destination),
        ] {
            guard let account else { continue }
            guard account.hasPrefix("acct_") else {
                throw InvalidInput(
                    field: "charge.\(field)",
                    message: "must be a connected account, acct_…"
                )
            }
            _ = try IdentifierSyntax.check(account, field: "charge.\(field)", lengthMax: 64)
        }
        guard transfer?.amount == nil || feeAmount == nil else {
            throw InvalidInput(
                field: "charge.application_fee_amount",
                message: "is what transfer_data.amount leaves: give one of the two"
            )
        }
        self.feeAmount = feeAmount
        self.onBehalfOf = onBehalfOf
        self.transfer = transfer
    }

    /// What of it is part of an idempotency key: a charge that is shared otherwise is another one.
    var said: [String] {
        [
            "shared", feeAmount.map { "\($0)" } ?? "", onBehalfOf ?? "",
            transfer?.destination ?? "", transfer?.amount.map { "\($0)" } ?? "",
        ]
    }
}
