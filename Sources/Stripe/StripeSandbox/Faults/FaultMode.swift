/// How a request misbehaves.
enum FaultMode: String, Decodable {
    /// Answers with `status`, `headers` and `body`.
    case status
    /// Resets the connection without a reply.
    case reset
    /// Holds the reply until the fault is deleted, 300 s at most, then answers normally.
    case hang
    /// Sends the head at once and the true body one byte every `delay_ms`.
    case slowBody = "slow_body"
    /// Sends the first half of the true body as if it were all.
    case halfJSON = "half_json"
    /// Announces the true body, sends half of it and closes the connection.
    case truncated
    /// Answers 200 with a page of HTML.
    case html
    /// Sends `bytes` of JSON text without announcing the length; 1 GiB unless given.
    case hugeBody = "huge_body"
    /// Answers with an object whose `status` is a number.
    case wrongType = "wrong_type"
    /// Answers normally, labelled `text/plain`.
    case wrongContentType = "wrong_content_type"
    /// Answers normally after `delay_ms`.
    case delay
}
