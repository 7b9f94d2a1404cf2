/// Where the customer of a redirect source goes.
struct SandboxRedirect {
    let url: String
    let returnURL: String
    var status = "pending"
    var failureReason: String?

    func render(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("failure_reason", failureReason)
            writer.field("return_url", returnURL)
            writer.field("status", status)
            writer.field("url", url)
        }
    }
}
