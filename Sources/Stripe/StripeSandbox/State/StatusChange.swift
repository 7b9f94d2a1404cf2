/// One change of one object, for a checker that compares what a poller saw with what happened.
struct StatusChange {
    let source: String
    /// Nil when the object was created.
    let previous: String?
    let status: String
    let atMs: Int64
}
