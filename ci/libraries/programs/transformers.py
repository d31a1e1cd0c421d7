"""transformers: small models of each kind, from their configurations."""

import tempfile

import torch
import transformers
from common import fill, numbers, size, train, whole

DISTRIBUTIONS = ("transformers", "tokenizers", "safetensors", "huggingface_hub")

_SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 60,
}


def _bert(kind=transformers.BertModel, **more):
    return fill(kind(transformers.BertConfig(**_SMALL, max_position_embeddings=40, **more))).eval()


def _gpt2():
    config = transformers.GPT2Config(
        vocab_size=60, n_positions=40, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2
    )
    return fill(transformers.GPT2LMHeadModel(config)).eval()


def _llama(**more):
    config = transformers.LlamaConfig(**_SMALL, num_key_value_heads=2, max_position_embeddings=64, **more)
    return fill(transformers.LlamaForCausalLM(config)).eval()


def bert():
    net = _bert()
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 5:] = 0
    out = net(whole(60, 2, 9), attention_mask=mask)
    return size(net), out.last_hidden_state, out.pooler_output


def bert_that_classifies_learns():
    net = _bert(
        transformers.BertForSequenceClassification,
        num_labels=3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    net.train()
    x, y = whole(60, 4, 8), whole(3, 4)
    return train(net, lambda: net(x, labels=y).loss, lambda p: torch.optim.AdamW(p, lr=1e-3))[0]


def gpt2_loss_and_gradient():
    net = _gpt2()
    x = whole(60, 2, 10)
    loss = net(x, labels=x).loss
    loss.backward()
    return loss, net.transformer.wte.weight.grad


def gpt2_generates():
    return _gpt2().generate(whole(60, 1, 4), max_new_tokens=8, do_sample=False, pad_token_id=0)


def gpt2_beams():
    return _gpt2().generate(whole(60, 1, 4), max_new_tokens=6, num_beams=3, do_sample=False, pad_token_id=0)


def a_program_takes_texts_of_all_lengths():
    found = []
    for net in (_bert(), _gpt2(), _llama()):
        compiled = torch.compile(net, fullgraph=True, backend="eager")
        with torch.no_grad():
            found += [compiled(whole(60, 2, n))[0] for n in range(4, 15)]
    return found


def a_program_generates():
    net = _llama()
    net.forward = torch.compile(net.forward, fullgraph=True, backend="eager")
    return net.generate(whole(60, 1, 4), max_new_tokens=12, do_sample=False, pad_token_id=0)


def llama():
    net = _llama()
    x = whole(60, 2, 10)
    out = net(x, labels=x)
    return out.loss, out.logits


def llama_generates():
    return _llama().generate(whole(60, 2, 4, seed=1), max_new_tokens=6, do_sample=False, pad_token_id=0)


def mistral():
    config = transformers.MistralConfig(**_SMALL, num_key_value_heads=2, sliding_window=4)
    return fill(transformers.MistralForCausalLM(config)).eval()(whole(60, 2, 9)).logits


def t5():
    config = transformers.T5Config(
        vocab_size=60, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    net = fill(transformers.T5ForConditionalGeneration(config)).eval()
    out = net(input_ids=whole(60, 2, 7), labels=whole(60, 2, 5))
    return out.loss, out.logits


def vision_transformer():
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8
    )
    return fill(transformers.ViTModel(config)).eval()(numbers(2, 3, 32, 32)).last_hidden_state


def clip():
    text = dict(**_SMALL, max_position_embeddings=20, eos_token_id=2, bos_token_id=1, pad_token_id=0)
    vision = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "image_size": 32,
        "patch_size": 8,
    }
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    net = fill(transformers.CLIPModel(config)).eval()
    ids = whole(60, 2, 7)
    ids[:, -1] = 2
    return net(input_ids=ids, pixel_values=numbers(2, 3, 32, 32)).logits_per_image


def whisper():
    config = transformers.WhisperConfig(
        vocab_size=60, num_mel_bins=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=32, decoder_ffn_dim=32, d_model=16, max_source_positions=20, max_target_positions=20,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    net = fill(transformers.WhisperModel(config)).eval()
    return net(input_features=numbers(1, 16, 40), decoder_input_ids=whole(60, 1, 5)).last_hidden_state


def mamba():
    config = transformers.MambaConfig(vocab_size=60, hidden_size=16, state_size=4, num_hidden_layers=2)
    return fill(transformers.MambaForCausalLM(config)).eval()(whole(60, 2, 8)).logits


def saved_and_loaded():
    net = _llama()
    with tempfile.TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        other = transformers.LlamaForCausalLM.from_pretrained(folder).eval()
    x = whole(60, 1, 6)
    return other(x).logits, torch.equal(other(x).logits, net(x).logits)


def schedule():
    optimizer = torch.optim.AdamW([torch.nn.Parameter(numbers(3))], lr=0.1)
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, 3, 12)
    rates = []
    for _ in range(10):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    return rates


def trainer():
    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return {"input_ids": whole(60, 6, seed=i), "labels": int(i % 3)}

    net = _bert(
        transformers.BertForSequenceClassification,
        num_labels=3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            folder, per_device_train_batch_size=8, num_train_epochs=3, report_to=[], use_cpu=True, save_strategy="no",
            learning_rate=1e-2, lr_scheduler_type="constant", disable_tqdm=True, logging_steps=1,
        )  # fmt: skip
        trainer = transformers.Trainer(net, settings, train_dataset=Rows())
        return trainer.train().training_loss
