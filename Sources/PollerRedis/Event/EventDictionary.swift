/// The dictionary of Zstandard for recorded events.
///
/// References to text near the end are cheaper. The dictionary is part of the stored format (``PackedEvent/mark``), so
/// it never changes. A better one gets a mark of its own. It is made of the events of a source that is paid, after the
/// names and values of the other kinds of events and objects (Stripe's OpenAPI fixtures, without their values).
enum EventDictionary {
    /// The head of the dictionary in URL-safe Base64 (RFC 8878 §5): its magic number, its ID and the codes of literals
    /// and references.
    ///
    /// `ZDICT_finalizeDictionary` made it for ``text`` at ``Compressor/level`` from the 2,256 different events that a
    /// third of the end-to-end tests had recorded. Without it, each event has codes of its own: a sixth more bytes and
    /// half as much time again.
    static let head =
        ""
        + "N6Qw7JVOmGE1ELCSbAMwDMMwDMMwDMPAYQsgEi2uhhJJCIHlFiPD4Nlb-Fv4W3hKU8okU0opU3K4CCoI"
        + "bgUTAQAAFIcCwhSiobgNAAQAhcXGRQQDCIeFgoLGwoPBsVAgDIrCIbIYGBCEBZEYCmEcUIQIUwEAAOR3"
        + "kjAGUQxIYQDAgIBRQLoAAAAAAAABAAAABAAAAAgAAAA"

    static let text = #"""
        {"amount":100,"amount_captured":0,"amount_refunded":0,"application":null\#
        ,"application_fee":null,"application_fee_amount":null,"balance_transaction":"txn_"\#
        ,"billing_details":{"address":{"city":null,"country":null,"line1":null,"line2":null\#
        ,"postal_code":null,"state":null},"email":null,"name":"Jenny Rosen","phone":null\#
        ,"tax_id":null},"calculated_statement_descriptor":null,"captured":false,"created":17\#
        ,"currency":"usd","customer":null\#
        ,"description":"My First Test Charge (created for API docs)","disputed":false\#
        ,"failure_balance_transaction":null,"failure_code":null,"failure_message":null\#
        ,"fraud_details":{},"id":"ch_","livemode":false,"metadata":{},"object":"charge"\#
        ,"on_behalf_of":null,"outcome":{"advice_code":null,"network_advice_code":null\#
        ,"network_decline_code":null,"network_status":null,"reason":null,"seller_message":null\#
        ,"type":""},"paid":true,"payment_intent":null,"payment_method":"card_"\#
        ,"payment_method_details":{"card":{"amount_authorized":null,"authorization_code":null\#
        ,"brand":"visa","checks":{"address_line1_check":null,"address_postal_code_check":null\#
        ,"cvc_check":"pass"},"country":"US","exp_month":8,"exp_year":2030\#
        ,"extended_authorization":{"status":"disabled"},"fingerprint":"AOB934RVNwzk6xtn"\#
        ,"funding":"credit","incremental_authorization":{"status":"unavailable"}\#
        ,"installments":{"plan":{"count":null,"interval":null,"type":"fixed_count"}}\#
        ,"last4":"4242","mandate":null,"multicapture":{"status":"unavailable"}\#
        ,"network":"visa","network_token":{"used":false},"network_transaction_id":null\#
        ,"overcapture":{"maximum_amount_capturable":100,"status":"unavailable"}\#
        ,"regulated_status":null,"three_d_secure":{"authentication_flow":null\#
        ,"electronic_commerce_indicator":null,"exemption_indicator":null,"result":null\#
        ,"result_reason":null,"transaction_id":null,"version":null},"transaction_link_id":null\#
        ,"wallet":{"dynamic_last4":null,"type":"link"}},"type":"card"},"receipt_email":null\#
        ,"receipt_number":null,"refunded":false,"review":null,"shipping":{}\#
        ,"source_transfer":null,"statement_descriptor":null,"statement_descriptor_suffix":null\#
        ,"status":"succeeded","transfer_data":{"amount":null,"destination":{"id":""\#
        ,"object":"account"}},"transfer_group":null}{"application":null\#
        ,"automatic_payment_methods":{"enabled":null},"cancellation_reason":null\#
        ,"client_secret":"seti_","created":17,"customer":null,"description":null\#
        ,"excluded_payment_method_types":null,"flow_directions":null,"id":"seti_"\#
        ,"last_setup_error":{"type":"idempotency_error"},"latest_attempt":null\#
        ,"livemode":false,"mandate":null,"metadata":{},"next_action":{"type":""}\#
        ,"object":"setup_intent","on_behalf_of":null,"payment_method":null\#
        ,"payment_method_configuration_details":{"id":"","parent":null}\#
        ,"payment_method_options":{},"payment_method_types":["card"],"single_use_mandate":null\#
        ,"status":"requires_payment_method","usage":"off_session"}{"amount":1099\#
        ,"amount_capturable":0,"amount_details":{"tip":{}},"amount_received":0\#
        ,"application":null,"application_fee_amount":null\#
        ,"automatic_payment_methods":{"enabled":true},"canceled_at":17\#
        ,"cancellation_reason":null,"capture_method":"automatic","client_secret":"pi_"\#
        ,"confirmation_method":"automatic","created":17,"currency":"usd","customer":null\#
        ,"customer_account":null,"description":null,"excluded_payment_method_types":null\#
        ,"id":"pi_","last_payment_error":{"type":"idempotency_error"},"latest_charge":null\#
        ,"livemode":false,"managed_payments":{"enabled":true},"metadata":{}\#
        ,"next_action":{"type":""},"object":"payment_intent","on_behalf_of":null\#
        ,"payment_method":null,"payment_method_configuration_details":{"id":"","parent":null}\#
        ,"payment_method_options":{},"payment_method_types":["card"]\#
        ,"processing":{"type":"card"},"receipt_email":null,"review":null\#
        ,"setup_future_usage":null,"shipping":{},"statement_descriptor":null\#
        ,"statement_descriptor_suffix":null,"status":"requires_payment_method"\#
        ,"transfer_data":{"destination":{"id":"","object":"account"}},"transfer_group":null\#
        }{"ach_credit_transfer":{"account_number":"test_52796e3294dc","bank_name":"TEST BANK"\#
        ,"fingerprint":"ecpwEzmBOSMOqQTL","routing_number":"110000000","swift_code":"TSTEZ122"\#
        },"allow_redisplay":null,"amount":null,"client_secret":"src_","created":17\#
        ,"currency":"usd","flow":"receiver","id":"src_","livemode":false,"metadata":{}\#
        ,"object":"source","owner":{"address":{"city":null,"country":null,"line1":null\#
        ,"line2":null,"postal_code":null,"state":null},"email":"jenny.rosen@example.com"\#
        ,"name":null,"phone":null,"verified_address":{"city":null,"country":null,"line1":null\#
        ,"line2":null,"postal_code":null,"state":null},"verified_email":null\#
        ,"verified_name":null,"verified_phone":null}\#
        ,"receiver":{"address":"121042882-38381234567890123","amount_charged":0\#
        ,"amount_received":0,"amount_returned":0,"refund_attributes_method":"email"\#
        ,"refund_attributes_status":"missing"},"statement_descriptor":null,"status":"pending"\#
        ,"type":"ach_credit_transfer","usage":"reusable"\#
        }"requires_payment_method""requires_confirmation""requires_action""processing""requires_\#
        capture""canceled""succeeded""failed""expired","closed_reason":"expired"\#
        ,"payment":{"state":"refunded","amount_refunded":"payment":{"state":"disputed"\#
        ,"dispute":{"status":"needs_response","id":"dp_"payment":{"state":"failed"\#
        ,"reason":"declined","code":"payment":{"state":"processing"\#
        ,"amount":"expires_at":"2026-"},"charge":{"state":"succeeded","id":"ch_"}\#
        ,"next_step":{"type":"send_transfer"\#
        ,"bank":{"iban":"reference":"next_step":{"type":"redirect"\#
        ,"url":"https://hooks.stripe.com/redirect/"}"object":"payment_intent"\#
        ,"amount_capturable":0,"amount_received":0,"application":null\#
        ,"automatic_payment_methods":null,"capture_method":"automatic"\#
        ,"confirmation_method":"automatic","customer":null,"description":null,"invoice":null\#
        ,"last_payment_error":null,"latest_charge":"py_","next_action":null\#
        ,"on_behalf_of":null,"payment_method":"pm_","payment_method_options":{}\#
        ,"payment_method_types":["card"],"receipt_email":null,"setup_future_usage":null\#
        ,"shipping":null,"transfer_data":null,"transfer_group":null\#
        }"code_verification":{"attempts_remaining":5\#
        ,"status":"receiver":{"address":"amount_charged":0,"amount_received":0\#
        ,"amount_returned":0,"refund_attributes_method":"email"\#
        ,"refund_attributes_status":"missing"}\#
        ,"sepa_debit":{"bank_code":"branch_code":"country":"DE"\#
        ,"fingerprint":"last4":"mandate_reference":"mandate_url":"https://"}\#
        ,"sofort":{"bancontact":{"giropay":{"eps":{"p24":{"multibanco":{"alipay":{"klarna":{"typ\#
        e":"card","three_d_secure":{"chargeable_status","card":{"brand":"Visa","exp_month":12\#
        ,"exp_year":2030,"funding":"credit"},"currency":"usd","status":"canceled"\#
        ,"type":"order.paid","kind":"payment_intent","type":"payment_intent.succeeded"\#
        ,"type":"payment.awaiting_customer","type":"next_step.changed","type":"watch.expired"\#
        ,"closed_reason":"expired","type":"payment.failed","type":"payment.refunded"\#
        ,"livemode":true,"object":null,"observed":{"polled_at":"2026-11-24T,"lag_ms":0}\#
        }{"id":"evt_","type":"source.pending","account":"default","source":"src_"\#
        ,"kind":"source","order":"seq":1,"run":1,"previous_status":null,"status":"pending"\#
        ,"final":false,"closed_reason":null,"payment":{"state":"awaiting_customer"\#
        ,"amount":1099,"amount_received":0,"currency":"eur","method":"ideal"}\#
        ,"next_step":{"type":"follow_link","until":"2026-"},"livemode":false\#
        ,"object":{"id":"src_","object":"source","allow_redisplay":null,"amount":1000\#
        ,"client_secret":"redacted","created":17,"currency":"eur","flow":"redirect"\#
        ,"livemode":false,"metadata":{},"owner":{"address":null\#
        ,"email":"jenny.rosen@example.com","name":"Jenny Rosen","phone":null\#
        ,"verified_address":null,"verified_email":null,"verified_name":"Jenny Rosen"\#
        ,"verified_phone":null},"redirect":{"failure_reason":null\#
        ,"return_url":"https://example.com/","status":"succeeded"\#
        ,"url":"https://hooks.stripe.com/redirect/authenticate/src_?client_secret=redacted"}\#
        ,"statement_descriptor":null,"status":"consumed","type":"ideal","usage":"single_use"\#
        ,"ideal":{"bank":null,"bic":null,"iban_last4":null,"statement_descriptor":null}}\#
        ,"observed":{"polled_at":"2026-11-24T10:00:00.000Z","lag_ms":0}}{"id":"evt_"\#
        ,"type":"payment.authorised","type":"source.chargeable","kind":"source","seq":2\#
        ,"run":1,"previous_status":"pending","status":"chargeable","final":false\#
        ,"closed_reason":null,"payment":{"state":"authorised","amount":1000\#
        ,"amount_received":0,"currency":"eur","method":"ideal"},"livemode":true,"object":null\#
        ,"observed":{"polled_at":"2026-11-24T10:00:00.000Z","lag_ms":0}}{"id":"evt_"\#
        ,"type":"payment.paid","type":"source.consumed","kind":"source","seq":3,"run":1\#
        ,"previous_status":"chargeable","status":"consumed","final":true\#
        ,"closed_reason":"settled","payment":{"state":"paid","amount":1099\#
        ,"amount_received":1099,"currency":"eur","method":"ideal"\#
        ,"paid_at":"2026-11-24T10:00:00.000Z"},"livemode":true,"object":null\#
        ,"observed":{"polled_at":"2026-11-24T10:00:00.000Z","lag_ms":0}}
        """#
}
