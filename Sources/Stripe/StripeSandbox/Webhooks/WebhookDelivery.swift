/// One event on its way to one endpoint.
struct WebhookDelivery {
    let event: String
    let type: String
    let endpoint: String
    let body: [UInt8]
    /// Tries so far.
    var attempts = 0
}
