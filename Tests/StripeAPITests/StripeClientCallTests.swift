import Foundation
import StripeAPI
import Testing

/// The method, path and fields of each typed call.
@Suite struct StripeClientCallTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let request: String
        let body: String
        let reply: String
        let call: @Sendable (StripeClient) async throws -> Void

        var testDescription: String { request }

        init(
            _ request: String,
            _ body: String = "",
            reply: String,
            _ call: @escaping @Sendable (StripeClient) async throws -> Void
        ) {
            self.request = request
            self.body = body
            self.reply = reply
            self.call = call
        }
    }

    private static let object = #"{"id":"x_1","type":"ideal","status":"pending","livemode":false}"#
    private static let list = #"{"data":[],"has_more":false}"#

    static let sources = [
        Row("POST /v1/sources", "amount=5&type=ideal", reply: object) {
            _ = try await $0.createSource(SourceParams(type: .ideal, amount: 5))
        },
        Row("GET /v1/sources/src_1?client_secret=s%20x", reply: object) {
            _ = try await $0.retrieveSource("src_1", clientSecret: ClientSecret(rawValue: "s x"))
        },
        Row("POST /v1/sources/src_1/verify", "values[]=32&values[]=45", reply: object) {
            _ = try await $0.verifySource("src_1", values: ["32", "45"])
        },
        Row(
            "POST /v1/sources/src_1",
            "multibanco[refund_account_holder_address_city]=Porto"
                + "&multibanco[refund_account_holder_name]=Jenny&multibanco[refund_iban]=PT50",
            reply: object
        ) {
            _ = try await $0.setRefundAttributes(
                ofSource: "src_1",
                .multibanco(
                    holderName: "Jenny",
                    iban: "PT50",
                    address: StripeAddress(city: "Porto")
                )
            )
        },
        Row("GET /v1/sources/src_1/mandate_notifications/srcmn_1", reply: object) {
            _ = try await $0.retrieveMandateNotification("srcmn_1", ofSource: "src_1")
        },
    ]

    static let charges = [
        Row(
            "POST /v1/charges",
            "amount=5&capture=false&currency=eur&metadata[order]=6&source=src_1",
            reply: object
        ) {
            var params = ChargeParams(source: "src_1", amount: 5, currency: "eur", capture: false)
            params.metadata = ["order": "6"]
            _ = try await $0.createCharge(params, idempotencyKey: "order-6")
        },
        Row("GET /v1/charges/ch_1", reply: object) { _ = try await $0.retrieveCharge("ch_1") },
        Row("GET /v1/charges?created[gte]=10&payment_intent=pi_1&limit=100", reply: list) {
            _ = try await $0.listCharges(paymentIntent: "pi_1", created: TimeBounds(from: 10))
        },
        Row("GET /v1/refunds/re_1", reply: object) { _ = try await $0.retrieveRefund("re_1") },
        Row("GET /v1/disputes/dp_1", reply: object) { _ = try await $0.retrieveDispute("dp_1") },
        Row("GET /v1/disputes?created[gte]=10&charge=ch_1&limit=100", reply: list) {
            _ = try await $0.listDisputes(charge: "ch_1", created: TimeBounds(from: 10))
        },
        Row("GET /v1/balance_transactions?source=ch_1&type=charge&limit=100", reply: list) {
            _ = try await $0.listBalanceTransactions(source: "ch_1", type: .charge)
        },
    ]

    static let intents = [
        Row(
            "POST /v1/payment_intents",
            "amount=5&confirm=true&currency=eur&payment_method_data[type]=ideal"
                + "&payment_method_types[]=ideal&return_url=app%3A%2F%2Fback",
            reply: object
        ) {
            _ = try await $0.createPaymentIntent(
                PaymentIntentParams(
                    amount: 5,
                    currency: "eur",
                    paymentMethodTypes: ["ideal"],
                    paymentMethodData: ["type": "ideal"],
                    confirm: true,
                    returnURL: "app://back"
                )
            )
        },
        Row("GET /v1/payment_intents/pi_1", reply: object) {
            _ = try await $0.retrievePaymentIntent("pi_1")
        },
        Row(
            "POST /v1/payment_intents/pi_1/confirm",
            "client_secret=s&payment_method=pm_1",
            reply: object
        ) {
            _ = try await $0.confirmPaymentIntent(
                "pi_1",
                PaymentIntentParams(
                    paymentMethod: "pm_1",
                    clientSecret: ClientSecret(rawValue: "s")
                )
            )
        },
        Row("POST /v1/payment_intents/pi_1/cancel", "cancellation_reason=abandoned", reply: object)
        {
            _ = try await $0.cancelPaymentIntent("pi_1", reason: "abandoned")
        },
    ]

    static let events = [
        Row(
            "GET /v1/events?types[]=source.chargeable&types[]=source.failed&created[gte]=10"
                + "&delivery_success=false&limit=100&ending_before=evt_1",
            reply: list
        ) {
            _ = try await $0.listEvents(
                EventQuery(
                    types: ["source.chargeable", "source.failed"],
                    created: TimeBounds(from: 10),
                    deliverySuccess: false
                ),
                cursor: .endingBefore("evt_1")
            )
        },
        Row(
            "GET /v1/events/evt_1",
            reply: #"{"id":"evt_1","type":"t","livemode":false,"data":{"object":{}}}"#
        ) { _ = try await $0.retrieveEvent("evt_1") },
        Row("GET /v1/webhook_endpoints?limit=100", reply: list) {
            _ = try await $0.listWebhookEndpoints()
        },
    ]

    @Test("a call is sent as documented", arguments: sources + charges + intents + events)
    func call(row: Row) async throws {
        try await ScriptedServer.withRunning(.json(200, row.reply)) { server in
            try await row.call(
                StripeClient(
                    configuration: StripeClientConfiguration(
                        key: StripeKey("sk_test_0123456789abcdef"),
                        baseURL: server.address,
                        timeout: .seconds(60)
                    )
                )
            )
            let request = server.requests.first ?? ""
            // Brackets may be sent unescaped or escaped; both mean the same.
            let line = request.prefix { $0 != "\r\n" }
                .replacing("%5B", with: "[").replacing("%5D", with: "]")
            #expect(line == row.request + " HTTP/1.1")
            let body = request.firstRange(of: "\r\n\r\n").map { request[$0.upperBound...] }
            #expect(body ?? "" == row.body)
        }
    }

    @Test("an invalid call is rejected before it is sent")
    func refused() async throws {
        let client = StripeClient(
            configuration: StripeClientConfiguration(
                key: StripeKey("sk_test_0123456789abcdef"),
                baseURL: "http://127.0.0.1:1",
                retry: .never
            )
        )
        for id in ["", ".", ".."] {
            await #expect(throws: StripeError.invalidRequest("the ID is empty or a dot segment")) {
                try await client.cancelPaymentIntent(id)
            }
        }
        let many = await #expect(throws: StripeError.self) {
            try await client.listEvents(EventQuery(types: Array(repeating: "a", count: 21)))
        }
        guard case .invalidRequest(let reason) = many else {
            return fail("\(String(describing: many))")
        }
        #expect(reason.contains("20"))
        await #expect(throws: StripeError.invalidRequest("a page has 1 to 100 objects, not 0")) {
            try await client.listCharges(limit: 0)
        }
    }
}
