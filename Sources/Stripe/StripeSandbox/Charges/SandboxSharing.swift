import JSONText
import SafeNumbers

/// The distribution of a payment on a Connect platform, stored and returned as requested.
///
/// A fee is the platform's share of a payment that another account receives: the connected account, or the
/// destination of a transfer.
/// *Source*: <https://docs.stripe.com/connect/charges>.
struct SandboxSharing: Codable {
    var feeAmount: Int?
    var onBehalfOf: String?
    var destination: String?
    var destinationAmount: Int?
    var group: String?

    /// Updates the values from a request.
    ///
    /// - Parameters:
    ///   - call: The request.
    ///   - amount: The charged amount, which limits the fee and the transfer.
    /// - Throws: An error for an invalid fee, transfer or account.
    mutating func update(from call: APICall, amount: Int) throws(APIError) {
        let form = call.form
        if let text = form["on_behalf_of"] { onBehalfOf = try Self.account(text, "on_behalf_of") }
        if let text = form["transfer_group"] { group = text.isEmpty ? nil : text }
        if let text = form["transfer_data", "destination"] {
            destination = try Self.account(text, "transfer_data[destination]")
        }
        destinationAmount =
            form["transfer_data", "amount"].flatMap { Int(safe: $0) } ?? destinationAmount
        if let fee = try form.positive("application_fee_amount") {
            guard call.account != nil || destination != nil else {
                throw APIError.invalid(
                    "You can only apply an application_fee_amount when the request is made on "
                        + "behalf of another account (using the Stripe-Account header or "
                        + "transfer_data[destination]).",
                    param: "application_fee_amount"
                )
            }
            feeAmount = fee
        }
        guard max(feeAmount ?? 0, destinationAmount ?? 0) <= amount else {
            throw APIError.invalid(
                "Neither a fee nor a transfer can be larger than the amount.",
                code: "amount_too_large",
                param: "application_fee_amount"
            )
        }
    }

    private static func account(_ text: String, _ param: String) throws(APIError) -> String {
        guard text.hasPrefix("acct_") else {
            throw APIError.invalid(
                "No such destination: '\(text)'",
                code: "resource_missing",
                param: param
            )
        }
        return text
    }

    /// Renders the fields common to charges and intents.
    func render(into writer: inout JSONWriter) {
        writer.field("application_fee_amount", feeAmount)
        writer.field("on_behalf_of", onBehalfOf)
        writer.field("transfer_data", destination) { destination, writer in
            writer.object { writer in
                if let destinationAmount { writer.field("amount", destinationAmount) }
                writer.field("destination", destination)
            }
        }
        writer.field("transfer_group", group)
    }
}
