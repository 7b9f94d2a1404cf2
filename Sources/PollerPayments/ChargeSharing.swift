package import PollerIdentity

/// The distribution of a charge when a platform collects for other accounts (Connect).
///
/// *Shape*, within a ``ChargeInstruction``:
/// `"application_fee_amount":99,"on_behalf_of":"acct_1","transfer_data":{"destination":"acct_1","amount":1000}`.
/// *Units*: the currency's smallest. *Source*: <https://docs.stripe.com/connect/charges>.
package struct ChargeSharing: Hashable, Sendable, Codable {
    /// The platform's fee on a payment for another account.
    package let feeAmount: Amount?
    /// The connected account for which the payment is made, `acct_…`.
    package let onBehalfOf: String?
    /// The transfer of the money to another account.
    package let transfer: Transfer?

    /// The destination of a transfer and its amount.
    package struct Transfer: Hashable, Sendable, Codable {
        /// The connected account, `acct_…`.
        package let destination: String
        /// The amount; `nil` for all of it.
        package let amount: Amount?

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

    /// Checks the distribution; `nil` without any field.
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
                "charge.\(field)",
                "must be a positive whole number in the currency's smallest unit"
            )
        }
        for (field, account) in [
            ("on_behalf_of", onBehalfOf), ("transfer_data.destination", transfer?.destination),
        ] {
            guard let account else { continue }
            guard account.hasPrefix("acct_") else {
                throw InvalidInput("charge.\(field)", "must be a connected account, acct_…")
            }
            _ = try IdentifierSyntax.check(account, field: "charge.\(field)", lengthMax: 64)
        }
        guard transfer?.amount == nil || feeAmount == nil else {
            throw InvalidInput(
                "charge.application_fee_amount",
                "conflicts with transfer_data.amount: set only one of them"
            )
        }
        self.feeAmount = feeAmount
        self.onBehalfOf = onBehalfOf
        self.transfer = transfer
    }

    /// The parts of the idempotency key: a charge with another distribution is a different charge.
    var keyParts: [String] {
        [
            "shared", feeAmount.map { "\($0)" } ?? "", onBehalfOf ?? "",
            transfer?.destination ?? "", transfer?.amount.map { "\($0)" } ?? "",
        ]
    }
}
