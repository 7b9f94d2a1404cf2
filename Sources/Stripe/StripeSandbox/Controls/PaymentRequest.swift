/// The body of `POST /_sandbox/{sources,payment_intents}/{id}/payments`: money sent to a receiver.
struct PaymentRequest: Decodable {
    let amount: Int
    /// Whether it is announced first and arrives after the automatic delay.
    let pending: Bool?
}
