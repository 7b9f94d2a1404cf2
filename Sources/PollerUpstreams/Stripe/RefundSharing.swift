import JSONText
import PollerPayments

/// The parts of a Connect platform's payment that its refund takes back from other accounts.
///
/// Stripe leaves the transfer and the fee as they are unless the refund asks for them: both parameters are false by
/// default, and only the application that created the charge may set them. So the fee is asked for only with a transfer,
/// or when the platform's key acts for the account that received the payment. The description does not say what follows
/// for a transfer or a fee that does not exist, so neither is asked for then.
/// *Source*: <https://docs.stripe.com/api/refunds/create>, `reverse_transfer` and `refund_application_fee`.
struct RefundSharing: Hashable {
    let reversesTransfer: Bool
    let returnsFee: Bool

    /// Reads a PaymentIntent or a charge; `isPlatform` says whether the key acts for another account.
    init(of object: RawJSON, isPlatform: Bool) {
        let fields = StripeFields(object)
        let fee = fields.sum("application_fee_amount") ?? .zero
        reversesTransfer = fields.object("transfer_data").id("destination") != nil
        returnsFee = fee > 0 && (reversesTransfer || isPlatform)
    }

    /// Creates the parts of a charge that was requested with `sharing`.
    init(_ sharing: ChargeSharing?) {
        reversesTransfer = sharing?.transfer != nil
        returnsFee = sharing?.feeAmount != nil
    }

    /// The parameters of the refund.
    var form: [(String, String)] {
        names.map { ($0, "true") }
    }

    /// The end of the idempotency key, so that one key always has the same parameters.
    ///
    /// Earlier releases sent the key without an end, some with other parameters.
    var keySuffix: String { names.map { ":\($0)" }.joined() }

    private var names: [String] {
        (reversesTransfer ? ["reverse_transfer"] : [])
            + (returnsFee ? ["refund_application_fee"] : [])
    }
}
