import Testing

@testable import PollerUpstreams

@Suite("The detail next to a status")
struct ObjectDetailTests {
    func detail(_ members: String) throws -> String {
        let text = #"{"id":"pi_1","status":"requires_payment_method"\#(members)}"#
        return try ObjectFacts(scanning: Array(text.utf8)).detail.text
    }

    @Test("an ordinary object has no detail")
    func none() throws {
        let nothing = [
            "", #","next_action":null,"last_payment_error":null,"amount_received":0"#,
            #","receiver":{"address":"1","amount_received":0,"amount_charged":5}"#,
            #","last_payment_error":"odd","receiver":[1]"#,
        ]
        for members in nothing { #expect(try detail(members) == "", "\(members)") }
    }

    @Test("each relevant change gives another detail")
    func each() throws {
        let situations = [
            #""last_payment_error":{"code":"card_declined","decline_code":"lost_card"}"#,
            #""last_payment_error":{"code":"card_declined","decline_code":"stolen_card"}"#,
            #""last_payment_error":{"code":"card_declined","charge":"ch_1"}"#,
            #""last_payment_error":{"code":"card_declined","charge":"ch_2"}"#,
            #""last_payment_error":{"code":"x","payment_method":{"id":"pm_1"}}"#,
            #""last_payment_error":{"code":"x","payment_method":{"id":"pm_2"}}"#,
            #""last_setup_error":{"code":"x","payment_method":{"id":"pm_2"}}"#,
            #""next_action":{"type":"use_stripe_sdk"}"#,
            #""next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"https://a/1"}}"#,
            #""next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"https://a/2"}}"#,
            #""amount_received":5"#, #""amount_received":6"#,
            #""receiver":{"amount_received":5}"#, #""receiver":{"amount_returned":5}"#,
            #""code_verification":{"attempts_remaining":5}"#,
            #""code_verification":{"attempts_remaining":4}"#,
            #""verification":{"attempts_remaining":4}"#,
        ]
        let details = try situations.map { try detail("," + $0) }
        #expect(Set(details).count == situations.count)
        #expect(details.allSatisfy { !$0.isEmpty && $0.utf8.count <= 7 && !$0.contains("|") })
    }

    @Test("member order, irrelevant members and signed URLs do not change the detail")
    func same() throws {
        let one = try detail(
            #","next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"https://a/1?s=1"}},"amount_received":5"#
        )
        let other = try detail(
            #","amount_received" : 5,"x":1,"next_action":{"redirect_to_url":{"return_url":"y","url":"https://a/1?s=2"},"type":"redirect_to_url"}"#
        )
        #expect(one == other)
        func page(_ url: String) throws -> String {
            try detail(
                #","next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"\#(url)"}}"#
            )
        }
        let signed = try page("https://hooks.stripe.com/redirect/1")
        #expect(try signed == page("https://hooks.stripe.com/redirect/2"))
        #expect(try signed == page(#"https:\/\/hooks.stripe.com\/redirect\/3"#))
        #expect(try signed != page("https://payments.stripe.com/redirect/1"))
        #expect(try page("https://a.example/1") != page("https://a.example/2"))
    }
}
