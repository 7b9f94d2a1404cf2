/// What a customer who comes back brings along in the query.
///
/// Whoever knows the address can write it, and ``redirectStatus`` has been seen to lie: it is a reason to look at
/// the object, never the answer. The client secret proves that it is the same customer.
/// *Source*: <https://docs.stripe.com/sources/ideal> and the other methods' pages.
public struct RedirectResult: Hashable, Sendable {
    /// The Source, `src_…`.
    public let source: String?
    /// The PaymentIntent, `pi_…`.
    public let paymentIntent: String?
    /// The SetupIntent, `seti_…`.
    public let setupIntent: String?
    /// Of whichever object it is.
    public let clientSecret: ClientSecret?
    /// Whether real money is meant; Sources alone say.
    public let livemode: Bool?
    /// `succeeded`, `failed`, `pending` or `processing`; not to be trusted.
    public let redirectStatus: String?

    /// Picks what is known from the items of a query.
    public init(_ items: [String: String]) {
        source = items["source"]
        paymentIntent = items["payment_intent"]
        setupIntent = items["setup_intent"]
        clientSecret = [
            "client_secret", "payment_intent_client_secret", "setup_intent_client_secret",
        ].lazy.compactMap { items[$0] }.first.map { ClientSecret(rawValue: $0) }
        livemode = items["livemode"].flatMap { Bool($0) }
        redirectStatus = items["redirect_status"]
    }
}
