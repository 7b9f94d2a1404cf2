/// How deliveries misbehave: the body of `POST /_sandbox/webhooks/faults`, and what it has struck so far.
struct WebhookFault: Decodable {
    /// What happens to a delivery.
    enum Mode: String, Decodable {
        /// It is lost: never tried, never repeated.
        case drop
        /// It arrives twice, the same event.
        case duplicate
        /// One change makes two events, each with an id of its own.
        case twin
        /// It waits until the fault is deleted; then all arrive, the newest first.
        case hold
        /// It arrives after `delay_ms`.
        case delay
    }

    let mode: Mode
    /// A type or a family such as `source.*`; all when absent.
    let match: String?
    let delayMs: Int64?
    /// How many events it applies to; until deleted when absent.
    var times: Int?
    var id = ""
    /// Deliveries it holds.
    var held: [Int] = []

    private enum CodingKeys: String, CodingKey {
        case mode, match, times
        case delayMs = "delay_ms"
    }

    /// Whether the values make sense.
    var isValid: Bool {
        times ?? 1 > 0 && (0...86_400_000).contains(delayMs ?? 0)
    }

    func applies(to type: String) -> Bool {
        times != 0 && SandboxState.matches(type, match ?? "*")
    }
}
