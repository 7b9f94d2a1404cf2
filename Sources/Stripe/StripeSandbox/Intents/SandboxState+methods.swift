import HTTPTypes

extension SandboxState {
    private static let methodParameters: Set<String> = [
        "allow_redisplay", "billing_details", "client_secret", "customer", "expand", "metadata",
        "radar_options", "type",
    ]

    /// `POST /v1/payment_methods` and `GET /v1/payment_methods/{id}`.
    mutating func routeMethods(_ call: APICall) throws(APIError) -> APIReply {
        switch (call.method, call.segments.count) {
        case (.post, 1):
            let type = try call.form.required("type")
            try call.form.allow(Self.methodParameters.union([type]))
            var method = try SandboxMethod(
                id: ids.make("pm_"),
                account: call.account,
                call.form,
                []
            )
            method.created = nowSeconds
            methods[method.id] = method
            return APIReply(body: method.json())
        case (.get, 2):
            try Self.requireSecretKey(call)
            let id = call.segment(1)
            guard let method = methods[id], method.account == call.account else {
                throw APIError.noSuch("PaymentMethod", id)
            }
            return APIReply(body: method.json())
        default: throw Self.unrecognized(call)
        }
    }
}
